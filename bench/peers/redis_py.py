"""redis-py's Lock as a worker of stanchion-bench: sync for one task, asyncio for several.

Takes a job as JSON, says READY, waits for GO, prints a tally as JSON; see bench/src/job.rs.
"""

import asyncio

import redis
import redis.asyncio

from counting import JOB, LEASE_S, NOW, Count, key, report, window


def sync(count):
    client = redis.Redis.from_url(JOB["place"][0])
    client.ping()
    open_ = window()
    while (asked := NOW()) < open_[1]:
        lock = client.lock(key(0), timeout=LEASE_S)
        lock.acquire()
        lock.release()
        count.operation(open_, asked)


async def task(client, number, count, open_):
    while (asked := NOW()) < open_[1]:
        lock = client.lock(key(number), timeout=LEASE_S)
        await lock.acquire()
        if count.cell is None:
            await lock.release()
            count.operation(open_, asked)
            continue
        got = NOW()
        count.enter()
        if JOB["hold_us"]:
            await asyncio.sleep(JOB["hold_us"] / 1e6)
        count.leave()
        left = NOW()
        # stanchion-audit: ignore RC205 -- a measurement that fails ends the process, and the key with its ttl
        await lock.release()
        count.hold(open_, asked, got, left)


async def many(counts):
    client = redis.asyncio.Redis.from_url(JOB["place"][0])
    await asyncio.gather(*(client.ping() for _ in counts))
    open_ = window()
    await asyncio.gather(*(task(client, number, count, open_) for number, count in enumerate(counts)))
    await client.aclose()


counts = [Count(number) for number in range(JOB["tasks"])]
if JOB["tasks"] == 1 and JOB["cell"] is None:
    sync(counts[0])
else:
    asyncio.run(many(counts))
report(counts)
