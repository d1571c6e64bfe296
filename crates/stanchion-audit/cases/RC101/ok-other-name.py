# also: RC302
# What is replaced makes another name of it: the copy is not the page.
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("pages")
ROOT = Path("/data/pages")


@mcp.tool()
def publish(name: str) -> None:
    text = (ROOT / name.strip("/")).read_text()
    (ROOT / name.replace(".md", ".html")).write_text("<p>" + text)
