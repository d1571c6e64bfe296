# also: RC302
# Variables of the module, and one that a function around shares.
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")
PATH = Path("/srv/shelf.json")
OTHER = Path("/srv/other.json")
books = {}


def load():
    global books
    try:
        books = json.loads(PATH.read_text())
        return
    except FileNotFoundError:
        pass
    books = {"none": 0}


@mcp.tool()
def put(title: str) -> str:
    load()
    books[title] = 1
    PATH.write_text(json.dumps(books))  # expect: RC101 read=17
    return "done"


@mcp.tool()
def put_other(title: str) -> str:
    found = {}

    def fill():
        nonlocal found
        for place in (OTHER,):
            if place.exists():
                found = json.loads(OTHER.read_text())
                return
        found = {"none": 0}

    fill()
    found[title] = 1
    OTHER.write_text(json.dumps(found))  # expect: RC101 read=40
    return "done"
