# also: RC302
import asyncio
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("tasks")
TASKS = Path.home() / "tasks.json"
lock = asyncio.Lock()


def f1() -> list:
    return json.loads(TASKS.read_text())


def f2(tasks: list) -> None:
    TASKS.write_text(json.dumps(tasks))  # expect: RC201 read=14


@mcp.tool()
async def add_task(title: str) -> str:
    async with lock:
        tasks = f1()
        tasks.append({"title": title, "done": False})
        f2(tasks)
    return title
