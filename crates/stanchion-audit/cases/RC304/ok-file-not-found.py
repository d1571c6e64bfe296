# also: RC101, RC302
import json
from pathlib import Path

PATH = Path("/data/facts.json")
THEME = Path("/data/theme.json")


def add(key: str, value: str) -> None:
    try:
        facts = json.loads(PATH.read_text())
    except FileNotFoundError:
        facts = {}
    facts[key] = value
    PATH.write_text(json.dumps(facts))


def theme() -> dict:
    try:
        return json.loads(THEME.read_text())
    except Exception:
        return {}
