# also: RC302
# One way reads, another one writes: no call does both.
import json
from pathlib import Path

PLACE = Path("/data/books.json")


def put(given):
    PLACE.write_text(json.dumps(given))


def titles(given):
    return json.loads(PLACE.read_text())


WAYS = {"put": put, "titles": titles}


def call(way: str, given: dict):
    return WAYS[way](given)
