# also: RC302
# What is made of the files in a folder, and is none of them; or it is locked, or a new one.
import json
import uuid
from pathlib import Path

from filelock import FileLock
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")
PAGES = Path("/srv/pages")


@mcp.tool()
def page(number: int) -> str:
    for path in FOLDER.glob("*.json"):
        hive = json.loads(path.read_text())
        if hive["number"] == number:
            (FOLDER / f"{hive['name']}.html").write_text(f"<h1>{hive['name']}</h1>")
            (PAGES / f"{hive['name']}.json").write_text(json.dumps(hive))
            (FOLDER / "old" / f"{hive['name']}.json").write_text(json.dumps(hive))
    return "done"


@mcp.tool()
def split(number: int) -> str:
    for path in FOLDER.glob("*.json"):
        for frame in json.loads(path.read_text())["frames"]:
            (FOLDER / f"frame-{frame['number']}.json").write_text(json.dumps(frame))
    return "done"


@mcp.tool()
def copy(number: int) -> str:
    for path in FOLDER.glob("*.json"):
        hive = json.loads(path.read_text())
        if hive["number"] == number:
            (FOLDER / f"{hive['name']}-{uuid.uuid4()}.json").write_text(json.dumps(hive))
    return "done"


@mcp.tool()
def add(number: int) -> str:
    with FileLock("/srv/hives.lock"):
        for path in FOLDER.glob("*.json"):
            hive = json.loads(path.read_text())
            if hive["number"] == number:
                hive["bees"] += 1
                (FOLDER / f"{hive['name']}.json").write_text(json.dumps(hive))
    return "done"


@mcp.tool()
def report(day: str) -> str:
    bees = 0
    for path in FOLDER.glob("*.json"):
        bees += json.loads(path.read_text())["bees"]
    (FOLDER / f"report-{day}.json").write_text(json.dumps(bees))
    return "done"
