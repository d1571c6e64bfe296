import httpx
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

mcp = FastMCP("weather")


@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def forecast(city: str) -> str:
    async with httpx.AsyncClient() as client:
        answer = await client.get("https://weather.example/forecast", params={"city": city})
    return answer.text


@mcp.tool()
async def report(city: str, text: str) -> str:
    async with httpx.AsyncClient() as client:
        await client.post("https://weather.example/reports", json={"city": city, "text": text})
    return "sent"
