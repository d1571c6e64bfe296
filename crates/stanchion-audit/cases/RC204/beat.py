# deployment: cluster; also: RC202
import asyncio

import redis.asyncio as redis

r = redis.Redis()


async def hold(key: str, token: bytes, work) -> bool:
    if not await r.set(key, token, nx=True, px=30_000):
        return False

    async def x4():
        while True:
            await asyncio.sleep(10)
            if await r.get(key) == token:
                await r.pexpire(key, 30_000)  # expect: RC204 read=16

    beat = asyncio.create_task(x4())
    try:
        await work()
    finally:
        beat.cancel()
    return True
