import asyncpg


class Locks:
    def __init__(self, pool: asyncpg.Pool):
        self.pool = pool

    async def run(self, key: int, work) -> None:
        await self.pool.execute("SELECT pg_advisory_lock($1)", key)  # expect: RC210
        try:
            await work()
        finally:
            await self.pool.execute("SELECT pg_advisory_unlock($1)", key)
