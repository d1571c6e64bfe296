# also: RC101, RC302
import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path("/data/limits.json")


@dataclass
class Limits:
    day: int
    names: list


def defaults() -> Limits:
    return Limits(day=100, names=["first"])


def load() -> Limits:
    try:
        return Limits(**json.loads(FILE.read_text()))
    except (OSError, ValueError):
        return defaults()


def add(name: str) -> None:
    limits = load()
    limits.names.append(name)
    FILE.write_text(json.dumps(asdict(limits)))  # expect: RC304 read=21
