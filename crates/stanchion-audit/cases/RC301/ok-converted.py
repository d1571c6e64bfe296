from pathlib import Path

from mcp.server.fastmcp import FastMCP
from textkit import Converter

mcp = FastMCP("shelf")
SHELF = Path("/data/shelf")
converter = Converter()


@mcp.tool()
def keep(source: str, title: str) -> str:
    body = converter.convert(source)
    try:
        with open(SHELF / f"{title}.md", "x") as place:
            place.write(body)
    except FileExistsError:
        return "is there"
    return "kept"
