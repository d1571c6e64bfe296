# also: RC302
import json

import httpx
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("weather")


@mcp.tool(annotations={"readOnlyHint": True})
async def subscribe(city: str) -> str:
    async with httpx.AsyncClient() as client:
        await client.post("https://weather.example/subscriptions", json={"city": city})  # expect: RC407
    return "subscribed"
