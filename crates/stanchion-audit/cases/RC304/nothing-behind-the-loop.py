# also: RC302, RC101
# The same, and in the end there is nothing.
import json
import time


def load():
    for turn in range(3):
        try:
            with open("a.json") as file:
                return json.load(file)
        except OSError:
            time.sleep(turn)
    return None


def add(item: str) -> None:
    all = load() or []
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)  # expect: RC304 read=11
