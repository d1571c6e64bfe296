# also: RC101, RC302
import json
from pathlib import Path

FILE = Path("/data/seen.json")


def load(path: Path, default: list) -> list:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return default


def seen(name: str) -> None:
    names = load(FILE, [])
    names.append(name)
    FILE.write_text(json.dumps(names))
