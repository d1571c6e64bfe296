from pathlib import Path

from mcp.server.fastmcp import FastMCP
from textkit import Converter

mcp = FastMCP("shelf")
SHELF = Path("/data/shelf")
converter = Converter()


@mcp.tool()
def keep(source: str, title: str) -> str:
    body = converter.convert(source)
    place = SHELF / f"{title}.md"
    if place.exists():
        return "is there"
    place.write_text(body)  # expect: RC301 read=15
    return "kept"
