# also: RC101, RC302
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

mcp = FastMCP("notes")
READS = ToolAnnotations(readOnlyHint=True)


@mcp.tool(annotations=READS)
def constant(text: str) -> None:
    Path("constant.txt").write_text(Path("constant.txt").read_text() + text)  # expect: RC407


def added(text: str) -> None:
    Path("added.txt").write_text(Path("added.txt").read_text() + text)  # expect: RC407


mcp.add_tool(added, annotations=ToolAnnotations(readOnlyHint=True))
