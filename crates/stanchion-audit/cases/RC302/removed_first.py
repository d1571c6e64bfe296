# The new file is whole, but the old one is gone before it is in its place.
import os
import tempfile
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
HIVES = Path("/srv/hives.txt")
YARDS = Path("/srv/yards.txt")


def fresh(text: str) -> str:
    handle, name = tempfile.mkstemp(dir="/srv")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return name


@mcp.tool()
def put_hives(text: str) -> str:
    name = fresh(text)
    if HIVES.exists():
        HIVES.unlink()
    os.rename(name, HIVES)  # expect: RC302
    return "done"


@mcp.tool()
def put_yards(text: str) -> str:
    name = fresh(text)
    YARDS.unlink(missing_ok=True)
    Path(name).rename(YARDS)  # expect: RC302
    return "done"


@mcp.tool()
def show() -> str:
    return HIVES.read_text() + YARDS.read_text()
