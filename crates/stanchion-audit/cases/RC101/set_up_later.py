# also: RC302
import json
from pathlib import Path

shelf = None


class Shelf:
    def __init__(self, root: str):
        self.place = Path(root) / "shelf.json"

    def load(self) -> list:
        return json.loads(self.place.read_text())

    def save(self, books: list) -> None:
        self.place.write_text(json.dumps(books))  # expect: RC101 read=13


def set_up(root: str) -> None:
    global shelf
    shelf = Shelf(root)


def the_shelf() -> Shelf:
    if shelf is None:
        raise RuntimeError("not yet")
    return shelf


def add(book: str) -> None:
    books = the_shelf().load()
    books.append(book)
    the_shelf().save(books)
