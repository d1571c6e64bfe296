# also: RC101, RC302
# Whatever goes wrong is taken for "there is none".
from pathlib import Path
from typing import Optional

NOTES = Path("/data/notes")


def read(name: str) -> Optional[str]:
    try:
        return (NOTES / name).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def add(name: str, text: str) -> None:
    old = read(name)
    if old is None:
        (NOTES / name).write_text(text)  # expect: RC304 read=11
    else:
        (NOTES / name).write_text(old + text)
