"""A library nobody has described is given the path, and what it has found is written back."""
from pathlib import Path

import outliner
from mcp.server.fastmcp import FastMCP
from planfile import Plan

mcp = FastMCP("plans")
ROOT = Path("/data/plans")


@mcp.tool()
def add_step(name: str, step: str) -> str:
    path = ROOT / f"{name}.plan"
    plan = Plan(str(path))
    plan.parse()
    lines = [str(one) for one in plan.steps]
    lines.append(step)
    path.write_text("\n".join(lines))  # expect: RC101 read=15, RC302
    return "added"


@mcp.tool()
def rename(name: str, title: str) -> str:
    path = ROOT / f"{name}.outline"
    outline = outliner.load(path)
    outline.title = title
    path.write_text(outliner.dumps(outline))  # expect: RC101 read=26, RC302
    return "renamed"
