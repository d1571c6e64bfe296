# also: RC302
# One way through `load` returns early, the other one goes on.
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")
PATH = Path.home() / ".config" / "shelf.json"


class Shelf:
    def __init__(self):
        self.load()

    def load(self):
        if PATH.exists():
            self.books = json.loads(PATH.read_text())
            return
        self.books = {"all": {}}

    def save(self):
        PATH.write_text(json.dumps(self.books))  # expect: RC107 read=18


shelf = Shelf()


@mcp.tool()
def put(title: str) -> str:
    shelf.books["all"][title] = 1
    shelf.save()
    return "done"
