from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("files")
ROOT = Path("/srv/files")


@mcp.tool()
def create(name: str, text: str) -> str:
    target = ROOT / name
    if target.exists():
        return "exists already"
    target.write_text(text)  # expect: RC301 read=12
    return "created"
