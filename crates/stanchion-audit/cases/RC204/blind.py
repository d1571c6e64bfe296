# deployment: cluster; also: RC202
import asyncio

import redis.asyncio as redis

r = redis.Redis()


async def hold(key: str, token: bytes, work) -> bool:
    if not await r.set(key, token, nx=True, px=30_000):
        return False

    async def beat():
        while True:
            await asyncio.sleep(10)
            await r.pexpire(key, 30_000)  # expect: RC204

    task = asyncio.create_task(beat())
    try:
        await work()
    finally:
        task.cancel()
        await r.delete(key)
    return True
