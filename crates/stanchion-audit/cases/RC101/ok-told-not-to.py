# also: RC301, RC302
# What was there is not written over: where there is something, the call fails.
from pathlib import Path

ROOT = Path("/data/pages")


def put(name: str, text: str, force: bool = False) -> None:
    if (ROOT / name).exists() and not force:
        raise ValueError("it is there")
    (ROOT / name).write_text(text)


def first(name: str) -> None:
    old = (ROOT / name).read_text()
    put(name, old + "first", force=False)
