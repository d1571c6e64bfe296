# also: RC302
# A function that was given a part of what it needs before it is called, or given away.
import asyncio
import json
from functools import partial
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
HIVES = Path("/srv/hives.json")
YARDS = Path("/srv/yards.json")


def loaded(path: Path) -> dict:
    return json.loads(path.read_text())


def saved(path: Path, what: dict) -> None:
    path.write_text(json.dumps(what))


@mcp.tool()
async def add(name: str) -> str:
    hives = await asyncio.to_thread(partial(loaded, HIVES))
    hives[name] = {}
    await asyncio.to_thread(partial(saved, HIVES), hives)  # expect: RC101 read=25
    return "done"


@mcp.tool()
async def open_yard(name: str) -> str:
    loop = asyncio.get_running_loop()
    yards = json.loads(await loop.run_in_executor(None, partial(YARDS.read_text, encoding="utf-8")))
    yards[name] = "open"
    await loop.run_in_executor(None, partial(YARDS.write_text, json.dumps(yards)))  # expect: RC101 read=34
    return "done"
