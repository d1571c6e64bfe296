# also: RC301, RC302
# Who has read it has left before anything is written.
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")
PATH = Path("/srv/shelf.json")


class Shelf:
    def load(self):
        if PATH.exists():
            self.books = json.loads(PATH.read_text())
            return
        self.books = {"none": 0}
        PATH.write_text(json.dumps(self.books))


@mcp.tool()
def show(title: str) -> str:
    shelf = Shelf()
    shelf.load()
    return str(shelf.books[title])
