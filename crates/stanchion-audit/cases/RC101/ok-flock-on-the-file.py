# also: RC302
import fcntl
import json
import os
from pathlib import Path

BASE = Path(os.getenv("BASE", "."))


def tag(name: str, word: str) -> None:
    with open(BASE / f"{name}.json", "r+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        doc = json.load(f)
        doc["tags"].append(word)
        f.seek(0)
        f.truncate()
        json.dump(doc, f)
        fcntl.flock(f, fcntl.LOCK_UN)
