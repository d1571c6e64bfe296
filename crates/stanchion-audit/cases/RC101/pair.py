# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shelf")
FILE = Path.home() / "shelf.json"


def look():
    if FILE.exists():
        return json.loads(FILE.read_text()), None
    return {}, "nothing there yet"


def keep(books):
    FILE.write_text(json.dumps(books))  # expect: RC101 read=13


@mcp.tool()
def add(title: str) -> str:
    books, problem = look()
    books[title] = "unread"
    keep(books)
    return problem or "ok"
