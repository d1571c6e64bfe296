# also: RC302
# Paths with what was read there: locked, only read, written elsewhere, or not the same one.
import fcntl
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")


def find(name: str) -> list:
    found = []
    for path in FOLDER.glob("*.json"):
        if path.stem.startswith(name):
            found.append((path, json.loads(path.read_text())))
    return found


@mcp.tool()
def rename(name: str, to: str) -> str:
    with open("/srv/hives.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path, hive = find(name)[0]
        hive["name"] = to
        path.write_text(json.dumps(hive))
    return "done"


@mcp.tool()
def show(name: str) -> str:
    path, hive = find(name)[0]
    return f"{path}: {hive['name']}"


@mcp.tool()
def export(name: str) -> str:
    path, hive = find(name)[0]
    Path("/srv/out.json").write_text(json.dumps({"at": str(path), **hive}))
    return "done"


@mcp.tool()
def reset(name: str) -> str:
    path, _ = find(name)[0]
    path.write_text("{}")
    return "done"
