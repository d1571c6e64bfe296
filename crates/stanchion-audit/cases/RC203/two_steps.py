# deployment: cluster; also: RC202
import redis.asyncio as redis

client = redis.Redis()


class L:
    def __init__(self, key: str):
        self.key = key

    async def __aenter__(self):
        if not await client.setnx(self.key, "x"):  # expect: RC203
            raise RuntimeError("busy")
        await client.expire(self.key, 30)
        return self

    async def __aexit__(self, *exc):
        await client.delete(self.key)


async def reindex(shard: int, build) -> None:
    async with L(f"reindex:{shard}"):
        await build(shard)
