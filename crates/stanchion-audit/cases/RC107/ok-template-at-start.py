import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("report")
TEMPLATE = Path("/usr/share/report/template.html").read_text()
LIMITS = json.loads(Path("/etc/report/limits.json").read_text())
OUT = Path("/srv/reports")


@mcp.tool()
def render(name: str, rows: list[str]) -> str:
    rows = rows[: LIMITS["rows"]]
    target = OUT / f"{name}.html"
    target.write_text(TEMPLATE.replace("{{rows}}", "\n".join(rows)))
    return str(target)
