# also: RC302
import json
from pathlib import Path

import mcp.types as types
from mcp.server import Server

server = Server("notes")
PLACE = Path("notes.json")


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [
        types.Tool(
            name="load",
            description="",
            inputSchema={"type": "object"},
            annotations=types.ToolAnnotations(readOnlyHint=True),
        ),
        types.Tool(
            name="save",
            description="",
            inputSchema={"type": "object"},
            annotations=types.ToolAnnotations(readOnlyHint=True),
        ),
        types.Tool(
            name="add",
            description="",
            inputSchema={"type": "object"},
            annotations=types.ToolAnnotations(idempotentHint=True),
        ),
    ]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> list[types.TextContent]:
    if name == "load":
        return [types.TextContent(type="text", text=PLACE.read_text())]
    if name == "save":
        PLACE.write_text(json.dumps(arguments))  # expect: RC407
        return []
    elif name == "add":
        with open("log.txt", "a") as file:
            file.write(arguments["line"])  # expect: RC407
        return []
    raise ValueError(name)
