# Entries of a map that are looked at by its methods.
import asyncio

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")


async def price() -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post("https://shop.example/price")).json()


spent, first = {}, {}
state = {"n": 0}


@mcp.tool()
async def by_get(user: str) -> None:
    had = spent.get(user, 0)
    await price()
    spent[user] = had + 1  # expect: RC104 read=21


@mcp.tool()
async def by_setdefault(user: str) -> None:
    had = first.setdefault(user, 0)
    await price()
    first[user] = had + 1  # expect: RC104 read=28


@mcp.tool()
async def by_update() -> None:
    had = state["n"]
    await price()
    state.update(n=had + 1)  # expect: RC104 read=35


class Workers:
    def __init__(self) -> None:
        self.known = {}
        self.found = {}

    async def asked(self, key: str):
        if key not in self.known:
            self.known[key] = await asyncio.create_subprocess_exec("worker", key)  # expect: RC104 read=46
        return self.known[key]

    async def given(self, key: str):
        worker = self.found.get(key)
        if worker is None:
            worker = await asyncio.create_subprocess_exec("worker", key)
            self.found[key] = worker  # expect: RC104 read=51
        return worker

    def stop(self, key: str) -> None:
        worker = self.known.pop(key)
        worker.kill()
        other = self.found.pop(key)
        other.kill()


workers = Workers()


@mcp.tool()
async def one(key: str) -> None:
    await workers.asked(key)


@mcp.tool()
async def two(key: str) -> None:
    await workers.given(key)


@mcp.tool()
async def end(key: str) -> None:
    workers.stop(key)
