# also: RC102
# Each client has a process of its own, and all of them find the same reminders.
import asyncio
import json
from contextlib import asynccontextmanager

import aiosqlite
import httpx
from mcp.server.fastmcp import FastMCP

PLACE = "/data/reminders.db"


async def remind() -> None:
    while True:
        try:
            async with aiosqlite.connect(PLACE) as db:
                cursor = await db.execute("SELECT id, text FROM reminders WHERE due < datetime('now') AND sent = 0")
                for number, text in await cursor.fetchall():
                    async with httpx.AsyncClient() as client:
                        await client.post("https://push.example/send", content=json.dumps(text))  # expect: RC406
                    await db.execute("UPDATE reminders SET sent = 1 WHERE id = ?", (number,))
                await db.commit()
        except aiosqlite.Error as error:
            print(error)
        await asyncio.sleep(30)


@asynccontextmanager
async def lifespan(server: FastMCP):
    task = asyncio.create_task(remind())
    try:
        yield
    finally:
        task.cancel()


mcp = FastMCP("reminders", lifespan=lifespan)


@mcp.tool()
async def add(text: str, due: str) -> str:
    async with aiosqlite.connect(PLACE) as db:
        await db.execute("INSERT INTO reminders (text, due, sent) VALUES (?, ?, 0)", (text, due))
        await db.commit()
    return "added"


mcp.run()
