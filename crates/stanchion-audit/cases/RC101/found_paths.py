# also: RC302
# What a folder gives of itself are paths: they are opened, moved and removed like others.
import json
import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")


@mcp.tool()
def rename(name: str, to: str) -> str:
    for path in sorted(FOLDER.glob("*.json")):
        with path.open() as file:
            hive = json.load(file)
        if hive["name"] == name:
            hive["name"] = to
            with path.open("w") as file:
                json.dump(hive, file)  # expect: RC101 read=17
            return "done"
    return "none"


@mcp.tool()
def feed(name: str) -> str:
    path = next(FOLDER.rglob(f"{name}.json"), None)
    if path is None:
        return "none"
    with path.open("rb") as file:
        hive = json.load(file)
    hive["fed"] = hive.get("fed", 0) + 1
    with path.open("w") as file:
        json.dump(hive, file)  # expect: RC101 read=32
    return "done"


@mcp.tool()
def swarm(name: str) -> str:
    found = list(FOLDER.glob(f"{name}-*.json"))
    if not found:
        return "none"
    with found[0].open() as file:
        hive = json.load(file)
    hive["bees"] = hive["bees"] // 2
    with found[0].open("w") as file:
        json.dump(hive, file)  # expect: RC101 read=45
    return "done"


def place(name: str) -> Path | None:
    found = [path for path in FOLDER.iterdir() if path.stem == name]
    return found[-1] if found else None


@mcp.tool()
def paint(name: str, colour: str) -> str:
    path = place(name)
    if path is None:
        return "none"
    with path.open() as file:
        hive = json.load(file)
    hive["colour"] = colour
    fresh = path.with_suffix(f".{os.getpid()}")
    with fresh.open("w") as file:
        json.dump(hive, file)
    fresh.replace(path)  # expect: RC101 read=63
    return "done"
