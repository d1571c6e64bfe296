# Whoever made it has it: what is written to it afterwards is not done twice.
import os

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")


@mcp.tool()
def add(name: str, text: str) -> str:
    path = os.path.join("/srv/bees", os.path.basename(name))
    if os.path.exists(path):
        return "taken"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return "done"


@mcp.tool()
def add_wasp(name: str, text: str) -> str:
    path = os.path.join("/srv/wasps", os.path.basename(name))
    if os.path.exists(path):
        return "taken"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return "taken"
    file = os.fdopen(handle, "w")
    file.write(text)
    file.close()
    return "done"
