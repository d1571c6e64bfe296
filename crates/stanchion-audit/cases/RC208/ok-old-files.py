import os
import time
from pathlib import Path

CACHE = Path("/var/cache/thumbs")


def sweep(limit: float) -> int:
    removed = 0
    for path in CACHE.iterdir():
        if time.time() - os.stat(path).st_mtime > limit:
            os.unlink(path)
            removed += 1
    return removed
