# also: RC302
import json

from filelock import FileLock

PATH = "/data/memo.json"
LOCK = FileLock(PATH + ".lock")


def _load():
    with open(PATH) as f:
        return json.load(f)


def _save(data):
    with open(PATH, "w") as f:
        json.dump(data, f)


def update(change):
    with LOCK:
        data = _load()
        change(data)
        _save(data)


def remember(key, value):
    def change(data):
        data[key] = value

    update(change)


def show(key):
    with LOCK:
        return _load().get(key)
