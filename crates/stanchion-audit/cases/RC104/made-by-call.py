# Maps that a call makes are shared like any others.
from collections import OrderedDict, defaultdict

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")


async def price() -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post("https://shop.example/price")).json()


plain = dict()
named = dict(n=1)
filled = defaultdict(int)
ordered = OrderedDict()


class Purse:
    def __init__(self) -> None:
        self.left = dict()


purse = Purse()


@mcp.tool()
async def one(user: str) -> None:
    had = plain[user]
    await price()
    plain[user] = had + 1  # expect: RC104 read=31


@mcp.tool()
async def two() -> None:
    had = named["n"]
    await price()
    named["n"] = had + 1  # expect: RC104 read=38


@mcp.tool()
async def three(user: str) -> None:
    had = filled[user]
    await price()
    filled[user] = had + 1  # expect: RC104 read=45


@mcp.tool()
async def four(user: str) -> None:
    had = ordered[user]
    await price()
    ordered[user] = had + 1  # expect: RC104 read=52


@mcp.tool()
async def five(user: str) -> None:
    had = purse.left[user]
    await price()
    purse.left[user] = had + 1  # expect: RC104 read=59
