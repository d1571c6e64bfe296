# also: RC302
import json
import os
import tempfile

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("wall")


@mcp.tool()
def put(text: str) -> str:
    draft = os.path.join(tempfile.gettempdir(), "wall.json.new")
    with open(draft, "w") as f:
        json.dump({"text": text}, f)
    os.replace(draft, "/data/wall.json")  # expect: RC303 read=15
    return "ok"
