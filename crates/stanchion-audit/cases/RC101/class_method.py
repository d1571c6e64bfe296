# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")
PLACE = Path("/data/shelf.json")


class Shelf:
    def __init__(self, books):
        self.books = books

    @classmethod
    def open(cls):
        return cls(json.loads(PLACE.read_text()))

    def close(self):
        PLACE.write_text(json.dumps(self.books))  # expect: RC101 read=17


@mcp.tool()
def add(book: str) -> None:
    shelf = Shelf.open()
    shelf.books.append(book)
    shelf.close()
