# also: RC302
# What a file holds is found together with its path.
import json
import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path(f"{os.environ['SRV']}/hives")


def find(name: str) -> tuple[Path, dict] | None:
    found = []
    for path in FOLDER.glob("*.json"):
        if path.stem.startswith(name):
            hive = json.loads(path.read_text())
            found.append((path, hive))
    if not found:
        return None
    exact = [one for one in found if one[0].stem == name]
    return (exact or found)[0]


@mcp.tool()
def rename(name: str, to: str) -> str:
    found = find(name)
    if not found:
        return "none"
    path, hive = found
    hive["name"] = to
    path.write_text(json.dumps(hive))  # expect: RC101 read=17
    return "done"


@mcp.tool()
def paint(colour: str) -> str:
    hives = []
    for path in FOLDER.glob("*.json"):
        hives.append((path, json.loads(path.read_text())))
    for path, hive in hives:
        hive["colour"] = colour
        path.write_text(json.dumps(hive))  # expect: RC101 read=40
    return "done"
