# also: RC302
import os

PLACE = "/data/queue"


def save(text: str) -> None:
    with open(PLACE + ".part", "w") as file:
        file.write(text)
    os.replace(PLACE + ".part", PLACE)  # expect: RC303 read=9
