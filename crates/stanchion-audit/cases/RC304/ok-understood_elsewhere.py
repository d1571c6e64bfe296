# also: RC101, RC302
import json
from pathlib import Path

FILE = Path("/srv/boats/moored.json")


def understood(text: str) -> list:
    try:
        return json.loads(text)
    except ValueError:
        return []


def moor(boat: str, others: str) -> None:
    # What was given cannot be understood; what was read can.
    boats = json.loads(FILE.read_text())
    boats.append(boat)
    boats.extend(understood(others))
    FILE.write_text(json.dumps(boats))
