import asyncpg


class Repo:
    def __init__(self, pool: asyncpg.Pool):
        self.pool = pool

    async def h(self, user_id: int) -> int:
        async with self.pool.acquire() as conn:
            return await conn.fetchval("SELECT points FROM users WHERE id = $1", user_id)

    async def k(self, user_id: int, points: int) -> None:
        async with self.pool.acquire() as conn:
            await conn.execute("UPDATE users SET points = $1 WHERE id = $2", points, user_id)  # expect: RC102 read=10


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo

    async def reward(self, user_id: int, amount: int) -> int:
        points = await self.repo.h(user_id)
        points = min(points + amount, 10_000)
        await self.repo.k(user_id, points)
        return points
