# also: RC101, RC302
# What cannot be read is kept under another name.
import json
import os

PLACE = "/data/tree.json"


def load() -> dict:
    try:
        with open(PLACE) as file:
            return json.load(file)
    except Exception:
        os.replace(PLACE, PLACE + ".bad")
        return {}


def put(name: str, value: str) -> None:
    tree = load()
    tree[name] = value
    with open(PLACE, "w") as file:
        json.dump(tree, file)
