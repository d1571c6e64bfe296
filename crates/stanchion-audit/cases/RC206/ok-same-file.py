# also: RC302
import json

from filelock import FileLock

PATH = "/data/list.json"


def push(item: str) -> None:
    lock = FileLock(PATH + ".lock")
    with lock:
        with open(PATH) as f:
            items = json.load(f)
        items.append(item)
        with open(PATH, "w") as f:
            json.dump(items, f)
