# also: RC301
import os
import time
from pathlib import Path

LOCK = Path("/run/sync.lock")


def v1() -> float:
    return time.time() - os.stat(LOCK).st_mtime


def acquire() -> int:
    while True:
        try:
            return os.open(LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            if v1() > 600:
                os.unlink(LOCK)  # expect: RC208 read=10
            else:
                time.sleep(1)
