# also: RC102
import asyncpg


class B:
    def __init__(self, pool: asyncpg.Pool):
        self.pool = pool

    async def q1(self, key: int):
        return await self.pool.fetchrow("SELECT spent FROM budgets WHERE id = $1 FOR UPDATE", key)  # expect: RC211

    async def q2(self, key: int, amount: int) -> None:
        row = await self.q1(key)
        await self.pool.execute("UPDATE budgets SET spent = $1 WHERE id = $2", row["spent"] + amount, key)
