# Only a system that cannot replace a file removes it first; or it is removed for good, or what is there is moved back.
import os
import sys
import tempfile
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
HIVES = Path("/srv/hives.txt")
YARDS = Path("/srv/yards.txt")
BEES = Path("/srv/bees.txt")


def fresh(text: str) -> str:
    handle, name = tempfile.mkstemp(dir="/srv")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return name


@mcp.tool()
def put_hives(text: str) -> str:
    name = fresh(text)
    if os.name == "nt" and HIVES.exists():
        HIVES.unlink()
    if sys.platform == "win32":
        HIVES.write_text(text)
    else:
        os.rename(name, HIVES)
    return "done"


@mcp.tool()
def put_yards(text: str) -> str:
    if not text:
        YARDS.unlink()
        return "gone"
    os.replace(fresh(text), YARDS)
    return "done"


@mcp.tool()
def take_back() -> str:
    BEES.unlink(missing_ok=True)
    os.rename("/srv/bees.kept", BEES)
    return "done"


@mcp.tool()
def show() -> str:
    return HIVES.read_text() + YARDS.read_text() + BEES.read_text()
