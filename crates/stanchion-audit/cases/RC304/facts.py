# also: RC101, RC302
import json
from pathlib import Path

PATH = Path("/data/facts.json")


def add(key: str, value: str) -> None:
    try:
        facts = json.loads(PATH.read_text())
    except Exception:
        facts = {}
    facts[key] = value
    PATH.write_text(json.dumps(facts))  # expect: RC304 read=10
