# also: RC302
# The lock is taken in a thread, and so is what it protects.
import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
HIVES = Path("/srv/hives.json")


@asynccontextmanager
async def alone():
    lock = FileLock("/srv/hives.lock")
    await asyncio.to_thread(lock.acquire)
    try:
        yield
    finally:
        await asyncio.to_thread(lock.release)


@mcp.tool()
async def add(name: str) -> str:
    async with alone():
        hives = json.loads(await asyncio.to_thread(HIVES.read_text))
        hives.append(name)
        await asyncio.to_thread(HIVES.write_text, json.dumps(hives))
    return "done"


@mcp.tool()
async def copy() -> str:
    text = await asyncio.to_thread(HIVES.read_text)
    await asyncio.to_thread(Path("/srv/copy.json").write_text, text)
    return "done"
