# also: RC302
# A library's function that is given to a thread, with what it is to be called with.
import asyncio
import json
import os
import shutil
from pathlib import Path

import anyio
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
HIVES = Path("/srv/hives.json")
YARDS = Path("/srv/yards.json")


@mcp.tool()
async def add(name: str) -> str:
    hives = json.loads(await asyncio.to_thread(HIVES.read_text, encoding="utf-8"))
    hives.append(name)
    await asyncio.to_thread(HIVES.write_text, json.dumps(hives))  # expect: RC101 read=19
    return "done"


@mcp.tool()
async def open_yard(name: str) -> str:
    loop = asyncio.get_running_loop()
    yards = json.loads(await loop.run_in_executor(None, YARDS.read_bytes))
    yards[name] = "open"
    fresh = YARDS.with_suffix(f".{os.getpid()}")
    await anyio.to_thread.run_sync(fresh.write_text, json.dumps(yards))
    await asyncio.to_thread(os.replace, fresh, YARDS)  # expect: RC101 read=28
    return "done"
