# also: RC205
import asyncpg


async def s3(pool: asyncpg.Pool, key: int, work) -> None:
    async with pool.acquire() as conn:
        await conn.execute("SELECT pg_advisory_lock($1)", key)  # expect: RC210
    await work()
    async with pool.acquire() as conn:
        await conn.execute("SELECT pg_advisory_unlock($1)", key)
