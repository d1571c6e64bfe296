import asyncpg
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("shows")


class Shows:
    def __init__(self):
        self.pool = None

    async def open(self):
        self.pool = await asyncpg.create_pool("postgres://localhost/shows")

    async def take(self, show: int):
        async with self.pool.acquire() as connection:
            async with connection.transaction():
                left = await connection.fetchval("SELECT places FROM shows WHERE id = $1", show)
                await connection.execute("UPDATE shows SET places = $1 WHERE id = $2", left - 1, show)  # expect: RC102 read=17


shows = Shows()


@mcp.tool()
async def take(show: int) -> str:
    await shows.take(show)
    return "taken"
