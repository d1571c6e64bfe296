# also: RC302
import os

SONGS = "/srv/choir/songs"


def add(name: str, text: str) -> bool:
    if name in os.listdir(SONGS):
        return False
    with open(os.path.join(SONGS, name), "w") as file:
        file.write(text)  # expect: RC301 read=8
    return True
