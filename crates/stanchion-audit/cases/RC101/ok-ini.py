import configparser


def export(path: str, port: int) -> None:
    settings = configparser.ConfigParser()
    settings["server"] = {"port": str(port)}
    with open(path, "w") as file:
        settings.write(file)
