# also: RC302
"""Whoever calls this locks the file for something else, later."""
import json
from pathlib import Path

BOOK = Path("/srv/club/book.json")


def enter(name):
    book = json.loads(BOOK.read_text())
    book["guests"] = book.get("guests", []) + [name]
    BOOK.write_text(json.dumps(book))  # expect: RC101 read=10
