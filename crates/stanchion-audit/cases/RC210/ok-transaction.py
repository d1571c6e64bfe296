import asyncpg


async def run(pool: asyncpg.Pool, key: int, work) -> None:
    async with pool.acquire() as conn:
        async with conn.transaction():
            await conn.execute("SELECT pg_advisory_xact_lock($1)", key)
            await work(conn)


async def session(pool: asyncpg.Pool, key: int, work) -> None:
    async with pool.acquire() as conn:
        await conn.execute("SELECT pg_advisory_lock($1)", key)
        try:
            await work(conn)
        finally:
            await conn.execute("SELECT pg_advisory_unlock($1)", key)
