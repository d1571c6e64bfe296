# deployment: cluster
import redis.asyncio as redis

client = redis.from_url("redis://cache")


async def go(job_id: str, work) -> bool:
    key = f"job:{job_id}"
    if not await client.set(key, "1", nx=True, px=10_000):
        return False
    try:
        await work(job_id)
        return True
    finally:
        await client.delete(key)  # expect: RC202
