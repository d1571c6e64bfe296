# also: RC302
import os

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")


@mcp.tool()
def add(name: str, text: str) -> str:
    path = os.path.join("/srv/bees", os.path.basename(name))
    if os.path.exists(path):
        return "taken"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)  # expect: RC301 read=12
    return "done"
