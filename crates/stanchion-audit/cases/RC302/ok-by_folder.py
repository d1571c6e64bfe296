# also: RC101
# Other files than those that are read: by their ending, or in a folder inside; or only their names are read.
import json
import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")
PAGES = Path("/srv/pages")


@mcp.tool()
def put(name: str, text: str) -> str:
    fresh = FOLDER / f"{name}.{os.getpid()}"
    fresh.write_text(json.dumps({"name": name, "text": text}))
    fresh.replace(FOLDER / f"{name}.json")
    (FOLDER / f"{name}.html").write_text(text)
    (FOLDER / "old" / f"{name}.json").write_text(text)
    (PAGES / f"{name}.html").write_text(text)
    return "done"


@mcp.tool()
def show() -> list[str]:
    return [json.loads(path.read_text())["text"] for path in FOLDER.glob("*.json")]


@mcp.tool()
def pages() -> list[str]:
    return [path.name for path in PAGES.iterdir()]
