# also: RC302
# Paths that a folder gives: locked, only read, written elsewhere, or not the same one.
import fcntl
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")


@mcp.tool()
def rename(name: str, to: str) -> str:
    with open("/srv/hives.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in sorted(FOLDER.glob("*.json")):
            with path.open() as file:
                hive = json.load(file)
            if hive["name"] == name:
                hive["name"] = to
                with path.open("w") as file:
                    json.dump(hive, file)
                return "done"
    return "none"


@mcp.tool()
def count() -> int:
    bees = 0
    for path in FOLDER.rglob("*.json"):
        with path.open() as file:
            bees += json.load(file)["bees"]
    with open("/srv/count.json", "w") as file:
        json.dump(bees, file)
    return bees


@mcp.tool()
def newest() -> str:
    path = max(FOLDER.glob("*.json"), key=lambda path: path.stat().st_mtime)
    with path.open() as file:
        return json.load(file)["name"]


@mcp.tool()
def put(text: str) -> str:
    found = sorted(FOLDER.glob("*.json"))
    with found[0].open() as file:
        first = json.load(file)
    with found[-1].open("w") as file:
        json.dump({"text": text, "after": first["name"]}, file)
    return "done"
