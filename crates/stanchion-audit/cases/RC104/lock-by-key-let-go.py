# The lock of the key is let go in between.
import asyncio
from collections import defaultdict

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")
locks = defaultdict(asyncio.Lock)
left = {}


@mcp.tool()
async def spend(user: str) -> None:
    async with locks[user]:
        had = left[user]
    async with httpx.AsyncClient() as client:
        answer = await client.post("https://shop.example/price")
    async with locks[user]:
        left[user] = had - answer.json()  # expect: RC104 read=16
