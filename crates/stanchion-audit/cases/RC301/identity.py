# also: RC302
import uuid
from pathlib import Path

PLACE = Path("/data/node/name")


def name() -> str:
    try:
        return PLACE.read_text()
    except FileNotFoundError:
        pass
    made = str(uuid.uuid4())
    PLACE.write_text(made)  # expect: RC301 read=10
    return made
