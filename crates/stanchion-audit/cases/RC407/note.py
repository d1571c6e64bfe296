from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

mcp = FastMCP("notes")


def s3(text: str) -> None:
    with open("/data/notes.txt", "a") as f:
        f.write(text + "\n")  # expect: RC407


@mcp.tool(annotations=ToolAnnotations(idempotentHint=True))
def add_note(text: str) -> str:
    s3(text)
    return "added"
