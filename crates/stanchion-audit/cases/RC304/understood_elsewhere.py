# also: RC101, RC302
import json
from pathlib import Path

FILE = Path("/srv/boats/moored.json")


def understood(text: str) -> list:
    try:
        return json.loads(text)
    except ValueError:
        return []


def moor(boat: str) -> None:
    boats = understood(FILE.read_text())
    boats.append(boat)
    FILE.write_text(json.dumps(boats))  # expect: RC304 read=16
