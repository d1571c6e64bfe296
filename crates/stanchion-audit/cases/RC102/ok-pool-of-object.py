from contextlib import asynccontextmanager

import asyncpg
from fastapi import FastAPI

archive: asyncpg.Pool | None = None


@asynccontextmanager
async def life(app):
    global archive
    archive = await asyncpg.create_pool("postgres://localhost/archive")
    yield
    await archive.close()


app = FastAPI(lifespan=life)


class Shows:
    def __init__(self):
        self.pool = None

    async def open(self):
        self.pool = await asyncpg.create_pool("postgres://localhost/shows")

    async def take(self, show: int):
        async with self.pool.acquire() as connection:
            async with connection.transaction():
                left = await connection.fetchval("SELECT places FROM shows WHERE id = $1 FOR UPDATE", show)
                await connection.execute("UPDATE shows SET places = $1 WHERE id = $2", left - 1, show)


shows = Shows()


@app.post("/shows/{show}")
async def take(show: int):
    await shows.take(show)
    return "taken"


@app.post("/archive/{show}")
async def archived(show: int):
    async with archive.acquire() as connection, connection.transaction():
        left = await connection.fetchval("SELECT places FROM old_shows WHERE id = $1 FOR UPDATE", show)
        await connection.execute("UPDATE old_shows SET places = $1 WHERE id = $2", left - 1, show)
    return "taken"


@app.post("/state/{show}")
async def of_state(show: int):
    async with app.state.pool.acquire() as connection:
        async with connection.transaction(isolation="serializable"):
            left = await connection.fetchval("SELECT places FROM new_shows WHERE id = $1", show)
            await connection.execute("UPDATE new_shows SET places = $1 WHERE id = $2", left - 1, show)
    return "taken"
