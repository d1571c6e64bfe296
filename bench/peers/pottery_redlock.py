"""pottery's Redlock as a worker of stanchion-bench: sync for one task, asyncio for several.

Takes a job as JSON, says READY, waits for GO, prints a tally as JSON; see bench/src/job.rs.
"""

import asyncio

import redis
import redis.asyncio
from pottery import AIORedlock, Redlock

from counting import JOB, LEASE_S, NOW, Count, key, report, window

ADDRESSES = JOB["place"][0].removeprefix("redlock://").split("/")[0].split(",")
URLS = [f"redis://{address}/" for address in ADDRESSES]


def sync(count):
    masters = {redis.Redis.from_url(url) for url in URLS}
    for master in masters:
        master.ping()
    open_ = window()
    while (asked := NOW()) < open_[1]:
        lock = Redlock(key=key(0), masters=masters, auto_release_time=LEASE_S)
        lock.acquire()
        lock.release()
        count.operation(open_, asked)


async def task(masters, number, count, open_):
    while (asked := NOW()) < open_[1]:
        lock = AIORedlock(key=key(number), masters=masters, auto_release_time=LEASE_S)
        await lock.acquire()
        await lock.release()
        count.operation(open_, asked)


async def many(counts):
    masters = {redis.asyncio.Redis.from_url(url) for url in URLS}
    await asyncio.gather(*(master.ping() for master in masters))
    open_ = window()
    await asyncio.gather(*(task(masters, number, count, open_) for number, count in enumerate(counts)))


counts = [Count(number) for number in range(JOB["tasks"])]
if JOB["tasks"] == 1:
    sync(counts[0])
else:
    asyncio.run(many(counts))
report(counts)
