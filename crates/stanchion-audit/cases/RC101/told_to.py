# also: RC301, RC302
from pathlib import Path

ROOT = Path("/data/pages")


def put(name: str, text: str, force: bool = False) -> None:
    if (ROOT / name).exists() and not force:
        raise ValueError("it is there")
    (ROOT / name).write_text(text)  # expect: RC101 read=14


def extend(name: str, line: str) -> None:
    old = (ROOT / name).read_text()
    put(name, old + line, force=True)
