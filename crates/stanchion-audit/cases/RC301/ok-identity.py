# also: RC302
# Whoever comes second gets the one that is there.
import uuid
from pathlib import Path

PLACE = Path("/data/node/name")


def name() -> str:
    try:
        return PLACE.read_text()
    except FileNotFoundError:
        pass
    try:
        with open(PLACE, "x") as file:
            file.write(str(uuid.uuid4()))
    except FileExistsError:
        pass
    return PLACE.read_text()
