import asyncpg


async def spend(pool: asyncpg.Pool, key: int, amount: int) -> None:
    async with pool.acquire() as conn:
        async with conn.transaction():
            row = await conn.fetchrow("SELECT spent FROM budgets WHERE id = $1 FOR UPDATE", key)
            await conn.execute("UPDATE budgets SET spent = $1 WHERE id = $2", row["spent"] + amount, key)
