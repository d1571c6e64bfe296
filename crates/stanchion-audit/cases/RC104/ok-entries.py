# Caches, by the methods of maps: whoever fetches what is not there twice has it twice. And two maps are two.
import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shop")
known, found, rates, sums, seen = {}, {}, {}, {}, {}


async def fetch(url: str) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).text


@mcp.tool()
async def asked(url: str) -> str:
    if url not in known:
        known[url] = await fetch(url)
    return known[url]


@mcp.tool()
async def given(url: str) -> str:
    text = found.get(url)
    if text is None:
        text = await fetch(url)
        found[url] = text
    return text


@mcp.tool()
async def behind(url: str) -> str:
    text = seen.get(url)
    if text is None:
        text = await fetch(url)
    seen[url] = text
    return text


@mcp.tool()
async def total(item: str) -> None:
    rate = rates[item]
    await fetch("https://shop.example")
    sums[item] = rate


@mcp.tool()
async def anew(item: str) -> None:
    await fetch("https://shop.example")
    sums[item] = sums.get(item, 0) + 1
