# also: RC301, RC302
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
def begin(name: str) -> str:
    path = ROOT / name
    body = body_of(path)
    if not path.exists():
        path.write_text(body or "new")
    return body
