"""What the program itself does with a path is known."""
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from pages import Page, load

mcp = FastMCP("pages")
ROOT = Path("/data/pages")


@mcp.tool()
def put(name: str) -> str:
    path = ROOT / f"{name}.md"
    page = Page(str(path))
    lines = page.parse()
    path.write_text("\n".join(lines) + str(load(path)))
    return "done"
