import contextlib
import fcntl
import json
import os
import threading

PLACE = "/data/tree.json"
HERE = threading.Lock()


@contextlib.contextmanager
def for_threads(path):
    with HERE:
        yield


def put(name: str, value: str) -> None:
    lock = for_threads(PLACE + ".one") if os.name == "posix" else for_threads(PLACE + ".other")
    with lock:
        tree = json.loads(open(PLACE).read())
        tree[name] = value
        new = f"{PLACE}.{os.getpid()}"
        with open(new, "w") as file:
            file.write(json.dumps(tree))
        os.replace(new, PLACE)  # expect: RC201 read=20
