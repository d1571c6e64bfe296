# also: RC302
"""The file is locked by whoever calls this."""
import json
from pathlib import Path

BOOK = Path("/srv/club/book.json")


def enter(name):
    book = json.loads(BOOK.read_text())
    book["guests"] = book.get("guests", []) + [name]
    BOOK.write_text(json.dumps(book))
