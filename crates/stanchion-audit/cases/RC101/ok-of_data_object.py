# also: RC302
# Only what came from another file is written.
from dataclasses import dataclass
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("leaves")
LEFT = Path("/srv/left.txt")
RIGHT = Path("/srv/right.txt")


@dataclass
class Both:
    left: str
    right: str


@mcp.tool()
def copy() -> str:
    both = Both(left=LEFT.read_text(), right=RIGHT.read_text())
    RIGHT.write_text(both.left)
    return both.right
