# Whoever says when he has seen the page is told that it has changed since; nobody has to say so.
import os
import tempfile
from pathlib import Path


def put(path: str, text: str, seen=None) -> None:
    page = Path(path)
    if seen is not None and page.exists():
        if page.stat().st_mtime > seen:
            raise RuntimeError("changed meanwhile")
    with tempfile.NamedTemporaryFile("w", delete=False, dir=page.parent) as draft:
        draft.write(text)
    os.replace(draft.name, page)  # expect: RC101 read=19


def sign(path: str, name: str, seen=None) -> None:
    page = Path(path)
    text = page.read_text()
    put(path, text + name, seen)
