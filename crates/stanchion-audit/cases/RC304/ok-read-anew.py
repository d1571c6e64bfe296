# also: RC302, RC101
# Whoever cannot read it reads it again, until he can, or until it is an error.
import json
import time


def for_ever(item: str) -> None:
    all = []
    while True:
        try:
            with open("a.json") as file:
                all = json.load(file)
            break
        except OSError:
            time.sleep(1)
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)


def for_a_while(item: str) -> None:
    all = []
    for turn in range(3):
        try:
            with open("b.json") as file:
                all = json.load(file)
        except OSError:
            time.sleep(turn)
        else:
            break
    else:
        raise RuntimeError("cannot be read")
    all.append(item)
    with open("b.json", "w") as file:
        json.dump(all, file)
