import os
import tempfile
from pathlib import Path


def fetch(target: Path, text: str) -> None:
    if target.exists():
        return
    fd, draft = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(fd, "w") as file:
        file.write(text)
    os.replace(draft, target)
