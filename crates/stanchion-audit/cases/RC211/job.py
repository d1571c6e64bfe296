# also: RC102, RC401
import asyncpg


async def next_job(pool: asyncpg.Pool, worker: str):
    async with pool.acquire() as conn:
        row = await conn.fetchrow("SELECT id FROM jobs WHERE state = 'due' LIMIT 1 FOR UPDATE SKIP LOCKED")  # expect: RC211
        if row is None:
            return None
        await conn.execute("UPDATE jobs SET worker = $1 WHERE id = $2", worker, row["id"])
        return row["id"]
