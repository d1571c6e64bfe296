# Whoever waits for what it has handed over pauses with it.
from elsewhere import again, fetch
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")
state = {"honey": 0}
total = 0


@mcp.tool()
async def collect() -> str:
    global total

    async def ask():
        return await fetch("/honey")

    before = total
    more = await again(ask)
    total = before + len(more)  # expect: RC104 read=17
    return "done"


spent = 0


@mcp.tool()
async def spend() -> str:
    async def take():
        global spent
        before = spent
        await fetch("/spend")
        spent = before + 1  # expect: RC104 read=30

    await again(take)
    return "done"
