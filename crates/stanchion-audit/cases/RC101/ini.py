# also: RC302
import configparser

PATH = "/etc/app/settings.ini"


def set_port(port: int) -> None:
    settings = configparser.ConfigParser()
    settings.read(PATH)
    settings["server"]["port"] = str(port)
    with open(PATH, "w") as file:
        settings.write(file)  # expect: RC101 read=9
