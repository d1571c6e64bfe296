# also: RC302
import fcntl
import json

PLACE = "/data/tree.json"


def store(tree: dict) -> None:
    lock = open(PLACE + ".lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        print(error)
    with open(PLACE, "w") as file:
        json.dump(tree, file)  # expect: RC209 read=11
