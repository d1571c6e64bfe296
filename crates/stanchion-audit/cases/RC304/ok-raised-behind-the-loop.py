# also: RC302, RC101
# It is tried three times, and then it is an error.
import json
import time


def load() -> list:
    for turn in range(3):
        try:
            with open("a.json") as file:
                return json.load(file)
        except OSError:
            time.sleep(turn)
    raise RuntimeError("cannot be read")


def add(item: str) -> None:
    all = load()
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)
