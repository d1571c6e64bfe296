# also: RC302
from pathlib import Path

ROOT = Path("/data/pages")


def put(name: str, text: str, force: bool) -> None:
    if (ROOT / name).exists():
        if not force:
            raise ValueError("it is there")
    (ROOT / name).write_text(text)  # expect: RC301 read=8
