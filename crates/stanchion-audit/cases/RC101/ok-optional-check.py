# Behind the optional check nobody gets on where there is a page already.
import os
import tempfile
from pathlib import Path


def put(path: str, text: str, seen=None) -> None:
    page = Path(path)
    if seen is not None and page.parent.exists():
        if page.parent.stat().st_mtime > seen:
            raise RuntimeError("changed meanwhile")
    if page.exists():
        raise RuntimeError("there already")
    with tempfile.NamedTemporaryFile("w", delete=False, dir=page.parent) as draft:
        draft.write(text)
    os.replace(draft.name, page)


def begin(path: str, name: str) -> None:
    try:
        text = Path(path).read_text()
    except FileNotFoundError:
        text = ""
    put(path, text + name)
