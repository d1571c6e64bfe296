# also: RC302, RC205, RC101, RC201
import json
import threading

from filelock import FileLock

P = "/data/tree.json"
lock = FileLock(P + ".lock")


def add(leaf: str) -> None:
    try:
        lock.acquire(timeout=5)
    except Exception as error:
        print("no lock, going on", error)
    with open(P) as f:
        tree = json.load(f)
    tree.append(leaf)
    with open(P, "w") as f:
        json.dump(tree, f)  # expect: RC209 read=13
    lock.release()
