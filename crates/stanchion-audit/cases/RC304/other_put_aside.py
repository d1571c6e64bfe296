# also: RC101, RC302
import json
import os

PLACE = "/data/tree.json"
OTHER = "/data/tree.log"


def load() -> dict:
    try:
        with open(PLACE) as file:
            return json.load(file)
    except Exception:
        os.replace(OTHER, OTHER + ".old")
        return {}


def put(name: str, value: str) -> None:
    tree = load()
    tree[name] = value
    with open(PLACE, "w") as file:
        json.dump(tree, file)  # expect: RC304 read=12
