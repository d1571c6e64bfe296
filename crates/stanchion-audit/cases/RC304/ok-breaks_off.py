# also: RC302, RC101
# It is read again until it can be, unless there is none, or until it is an error.
import errno
import json
import time


def until_none(item: str) -> None:
    all = []
    while True:
        try:
            with open("a.json") as file:
                all = json.load(file)
            break
        except OSError as error:
            if error.errno == errno.ENOENT:
                break
            time.sleep(1)
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)


def until_enough(item: str) -> None:
    all, turn = [], 0
    while True:
        try:
            with open("b.json") as file:
                all = json.load(file)
            break
        except OSError:
            turn += 1
            if turn > 3:
                raise
            time.sleep(1)
    all.append(item)
    with open("b.json", "w") as file:
        json.dump(all, file)


def until_none_was_read(item: str) -> None:
    all, turn = None, 0
    while True:
        try:
            with open("c.json") as file:
                all = json.load(file)
            break
        except OSError:
            turn += 1
            if turn > 3:
                break
            time.sleep(1)
    if all is None:
        raise RuntimeError("cannot be read")
    all.append(item)
    with open("c.json", "w") as file:
        json.dump(all, file)
