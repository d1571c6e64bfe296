from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("doc")


def p1(name: str) -> Path:
    return Path("/srv/docs") / f"{name}.md"


@mcp.tool()
def replace(name: str, text: str) -> str:
    p1(name).write_text(text)  # expect: RC302
    return "ok"


@mcp.tool()
def show(name: str) -> str:
    return p1(name).read_text()
