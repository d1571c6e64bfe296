# also: RC101, RC302
from mcp.server.fastmcp import FastMCP

from shelf import shelf

mcp = FastMCP("shelf")


@mcp.tool()
def fill(jar: str, what: str) -> str:
    shelf.fill(jar, what)
    return "filled"


@mcp.tool()
def empty(jar: str) -> str:
    shelf.empty(jar)
    return "empty"


mcp.run()
