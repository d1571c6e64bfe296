# A map of the call's own, and one that each thread has for itself.
import threading
from collections import defaultdict

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")
each = threading.local()


async def price() -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post("https://shop.example/price")).json()


@mcp.tool()
async def own(users: list[str]) -> dict:
    sums = defaultdict(int)
    for user in users:
        had = sums.get(user, 0)
        sums[user] = had + await price()
    return sums


@mcp.tool()
async def alone() -> None:
    each.count = 1
