# also: RC302
# The class says where its objects are kept; what is written was given.
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")


class Shelf:
    place = Path("/data/shelf.json")

    def __init__(self, books):
        self.books = books

    @classmethod
    def of(cls, books):
        return cls(sorted(books))

    def close(self):
        self.place.write_text(json.dumps(self.books))


@mcp.tool()
def put(books: list) -> int:
    before = json.loads(Shelf.place.read_text())
    Shelf.of(books).close()
    return len(before)
