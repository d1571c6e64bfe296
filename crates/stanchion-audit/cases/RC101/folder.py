# also: RC302
# A folder that may be there, and one for what is only passing through: neither keeps anybody out.
import json
import os
import shutil
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")


@mcp.tool()
def add(name: str) -> str:
    Path("/srv/hive").mkdir(parents=True, exist_ok=True)
    bees = json.load(open("/srv/hive/bees.json"))
    bees.append(name)
    json.dump(bees, open("/srv/hive/bees.json", "w"))  # expect: RC101 read=16
    return "done"


@mcp.tool()
def add_wasp(name: str) -> str:
    os.makedirs("/srv/passing", exist_ok=True)
    wasps = json.load(open("/srv/wasps.json"))
    wasps.append(name)
    json.dump(wasps, open("/srv/wasps.json", "w"))  # expect: RC101 read=25
    shutil.rmtree("/srv/passing")
    return "done"
