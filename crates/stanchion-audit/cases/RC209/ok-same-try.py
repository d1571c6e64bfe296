# also: RC302
# Whoever cannot have the lock does not come to the work.
import fcntl
import json

PLACE = "/data/tree.json"


def store(tree: dict) -> None:
    try:
        lock = open(PLACE + ".lock", "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(PLACE, "w") as file:
            json.dump(tree, file)
    except OSError as error:
        print(error)
