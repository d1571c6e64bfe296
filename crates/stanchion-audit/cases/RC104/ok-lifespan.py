import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.server.fastmcp import Context, FastMCP


@dataclass
class Opened:
    count: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@asynccontextmanager
async def opened(server: FastMCP):
    yield Opened()


mcp = FastMCP("visits", lifespan=opened)


@mcp.tool()
async def visit(ctx: Context) -> int:
    app = ctx.request_context.lifespan_context
    async with app.lock:
        before = app.count
        await ctx.info("a visit")
        app.count = before + 1
        return app.count
