# also: RC101, RC302
import json
from pathlib import Path

FILE = Path("/data/tags.json")


def load() -> dict:
    try:
        raw = FILE.read_text()
    except FileNotFoundError:
        return {}
    try:
        return json.loads(raw)
    except json.JSONDecodeError:
        return {}


def tag(name: str) -> None:
    tags = load()
    tags[name] = True
    FILE.write_text(json.dumps(tags))  # expect: RC304 read=10
