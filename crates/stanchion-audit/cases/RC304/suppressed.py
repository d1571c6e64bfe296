# also: RC302, RC101
import json
from contextlib import suppress
from pathlib import Path

PATH = Path("a.json")


def load() -> dict:
    known = {}
    with suppress(Exception):
        known = json.loads(PATH.read_text())
    return known


def put(key: str) -> None:
    known = load()
    known[key] = 1
    PATH.write_text(json.dumps(known))  # expect: RC304 read=12
