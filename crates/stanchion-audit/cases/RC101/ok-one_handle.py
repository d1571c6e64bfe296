# The same under a lock on the open file, and one that only writes to the end of what it has read.
import fcntl
import json


def seat(guest: str) -> None:
    with open("/data/guests.json", "a+") as handle:
        fcntl.flock(handle.fileno(), fcntl.LOCK_EX)
        handle.seek(0)
        guests = json.loads(handle.read() or "[]")
        guests.append(guest)
        handle.seek(0)
        handle.truncate()
        json.dump(guests, handle)


def note(line: str) -> None:
    with open("/data/notes.txt", "a+") as handle:
        handle.seek(0)
        if not handle.read().endswith("\n"):
            line = "\n" + line
        handle.write(line)
