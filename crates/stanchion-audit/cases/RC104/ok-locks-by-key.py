# Each key has a lock of its own, wherever that comes from.
import asyncio
from collections import defaultdict

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")


async def price() -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post("https://shop.example/price")).json()


by_default = defaultdict(asyncio.Lock)
by_lambda = defaultdict(lambda: asyncio.Lock())
by_name = {}
one, two, three = {}, {}, {}


@mcp.tool()
async def first(user: str) -> None:
    async with by_default[user]:
        had = one[user]
        one[user] = had - await price()


@mcp.tool()
async def second(user: str) -> None:
    async with by_lambda[user]:
        had = two[user]
        two[user] = had - await price()


@mcp.tool()
async def third(user: str) -> None:
    async with by_name.setdefault(user, asyncio.Lock()):
        had = three[user]
        three[user] = had - await price()
