import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("purse")
left: dict[str, int] = {}


@mcp.tool()
async def spend(user: str, amount: int) -> None:
    had = left[user]
    async with httpx.AsyncClient() as client:
        await client.get("https://shop.example/price")
    left[user] = had - amount  # expect: RC104 read=10
