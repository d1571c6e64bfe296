# also: RC302
# It is read, and then asked whether it is there: who writes has found it.
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("leaves")
ROOT = Path("/srv/leaves")


def body_of(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


@mcp.tool()
def extend(name: str, more: str) -> str:
    path = ROOT / name
    body = body_of(path)
    if not path.exists():
        return "no such leaf"
    path.write_text(body + more)  # expect: RC101 read=13
    return "done"
