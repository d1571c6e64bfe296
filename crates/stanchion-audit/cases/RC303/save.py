import os
from pathlib import Path


def save(path: Path, text: str) -> None:
    temp = path.with_suffix(".tmp")
    temp.write_text(text)
    os.replace(temp, path)  # expect: RC303 read=7
