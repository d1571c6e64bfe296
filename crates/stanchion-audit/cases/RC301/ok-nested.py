# also: RC302
# That it is there is only told, and nobody leaves because of it.
from pathlib import Path

ROOT = Path("/data/pages")


def put(name: str, text: str, loud: bool) -> None:
    if (ROOT / name).exists():
        if loud:
            print("it is there")
    (ROOT / name).write_text(text)
