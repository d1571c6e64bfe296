# Only where there is no lock for all processes, there is one for the threads of this one.
import contextlib
import fcntl
import json
import os
import threading

PLACE = "/data/tree.json"
HERE = threading.Lock()


@contextlib.contextmanager
def for_all(path):
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


@contextlib.contextmanager
def for_threads(path):
    with HERE:
        yield


def put(name: str, value: str) -> None:
    lock = for_threads(PLACE + ".lock") if os.name == "nt" else for_all(PLACE + ".lock")
    with lock:
        tree = json.loads(open(PLACE).read())
        tree[name] = value
        new = f"{PLACE}.{os.getpid()}"
        with open(new, "w") as file:
            file.write(json.dumps(tree))
        os.replace(new, PLACE)
