# also: RC302, RC104
import json
import threading

GUARD = threading.Lock()
PLACE = "/data/tree.json"


def take():
    if not GUARD.acquire(blocking=False):
        raise RuntimeError("busy")


def store(tree: dict) -> None:
    take()
    try:
        with open(PLACE, "w") as file:
            json.dump(tree, file)
    finally:
        GUARD.release()


class Held:
    def __enter__(self):
        if not GUARD.acquire(timeout=5):
            raise TimeoutError("busy")
        return self

    def __exit__(self, *_):
        GUARD.release()


def store_held(tree: dict) -> None:
    with Held():
        with open(PLACE, "w") as file:
            json.dump(tree, file)
