# also: RC101, RC302
# What fails here has nothing to do with what was read.
import json
from pathlib import Path

from bell import ring

FILE = Path("/data/tags.json")


def tag(name: str) -> bool:
    tags = json.loads(FILE.read_text())
    told = True
    try:
        ring(tags)
    except Exception:
        told = False
    tags[name] = True
    FILE.write_text(json.dumps(tags))
    return told
