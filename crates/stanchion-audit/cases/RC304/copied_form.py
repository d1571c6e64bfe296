# also: RC101, RC302
import copy
import json
from pathlib import Path

FILE = Path("/srv/bees/honey.json")
NONE = {"jars": [], "sold": 0}


def honey() -> dict:
    try:
        return json.loads(FILE.read_text())
    except Exception:
        return copy.deepcopy(NONE)


def fill(jar: str) -> None:
    all_jars = honey()
    all_jars["jars"].append(jar)
    FILE.write_text(json.dumps(all_jars))  # expect: RC304 read=12
