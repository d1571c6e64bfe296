# also: RC302
import sys

import portalocker

PATH = "/data/tree.json"


def take():
    file = open("/data/tree.lock", "w")
    try:
        portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        return file
    except portalocker.LockException:
        file.close()
        raise RuntimeError("somebody else is at it")


def save(text: str) -> None:
    try:
        held = take()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    try:
        with open(PATH, "w") as file:
            file.write(text)
    finally:
        portalocker.unlock(held)
        held.close()
