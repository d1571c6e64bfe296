# also: RC302
# The lock file is made by a function that answers, and the caller's `try` hears that there was one already.
import json
import os

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")
PATH = "/srv/bees.json"
LOCK = "/srv/bees.lock"


def take() -> bool:
    os.close(os.open(LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    return True


@mcp.tool()
def add(name: str) -> str:
    try:
        taken = take()
    except FileExistsError:
        return "busy"
    if not taken:
        return "busy"
    try:
        with open(PATH) as file:
            bees = json.load(file)
        bees[name] = {}
        with open(PATH, "w") as file:
            json.dump(bees, file)
    finally:
        os.unlink(LOCK)
    return "done"
