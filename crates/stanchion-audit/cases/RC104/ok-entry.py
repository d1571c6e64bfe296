# One entry is read, another one is written; and what is changed is read after the pause.
import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")
left: dict[str, int] = {}


@mcp.tool()
async def copy(one: str, other: str) -> None:
    had = left[one]
    async with httpx.AsyncClient() as client:
        await client.get("https://shop.example/price")
    left[other] = had


@mcp.tool()
async def spend(user: str, amount: int) -> None:
    async with httpx.AsyncClient() as client:
        await client.get("https://shop.example/price")
    left[user] = left[user] - amount
