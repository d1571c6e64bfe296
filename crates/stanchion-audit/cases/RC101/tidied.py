# also: RC302
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("pages")
ROOT = Path("/data/pages")


def target(name: str) -> Path:
    name = name.replace("\\", "/")
    return ROOT / name.strip("/")


@mcp.tool()
def extend(name: str, line: str) -> None:
    old = (ROOT / name).read_text()
    target(name).write_text(old + line)  # expect: RC101 read=17
