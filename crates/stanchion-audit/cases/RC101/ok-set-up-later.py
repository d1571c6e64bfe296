# also: RC302
# One that may be missing is missing: nothing is written.
import json
from pathlib import Path
from typing import Optional

shelf = None


class Shelf:
    place = Path("/data/shelf.json")

    def load(self) -> list:
        return json.loads(self.place.read_text())


def the_shelf() -> Optional[Shelf]:
    return shelf


def put(books: list) -> None:
    found = the_shelf()
    old = found.load() if found else []
    Shelf.place.write_text(json.dumps(books))
    print(len(old))
