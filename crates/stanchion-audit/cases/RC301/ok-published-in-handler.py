# Whoever looks in a handler puts it into place as anywhere else.
import os
import tempfile
from pathlib import Path

KEPT = Path("/srv/index/kept.bin")


def keep(data: bytes) -> None:
    if not KEPT.exists():
        draft = KEPT.with_name(f"{KEPT.name}.{os.getpid()}")
        draft.write_bytes(data)
        os.replace(draft, KEPT)


def load(text: str, data: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        keep(data)
        return 0
