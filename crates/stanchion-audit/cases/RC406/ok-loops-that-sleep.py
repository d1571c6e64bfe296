# deployment: cluster
# Loops that wait for something, that wait only when there is nothing to do, and that see to what their own copy has.
import asyncio
import time

import redis
import requests

r = redis.Redis()
gathered = []


def until_done(job: str) -> str:
    while True:
        state = requests.post("http://jobs/state", json={"job": job}).json()
        if state["done"]:
            return state["result"]
        time.sleep(5)


def until_there() -> None:
    there = False
    while not there:
        there = requests.post("http://jobs/next").ok
        time.sleep(1)


def works():
    while True:
        job = r.lpop("jobs")
        if job is None:
            time.sleep(1)
            continue
        requests.post("http://mail/send", data=job)


def takes():
    while True:
        time.sleep(1)
        job = r.lpop("jobs")
        if job:
            requests.post("http://mail/send", data=job)


def slowly(users: list[str]) -> None:
    while users:
        requests.post("http://mail/send", data=users.pop())
        time.sleep(1)


async def hands_on():
    while True:
        await asyncio.sleep(5)
        batch = list(gathered)
        gathered.clear()
        if batch:
            requests.post("http://metrics/add", json=batch)


def gather(value: int) -> None:
    gathered.append(value)


def alone():
    while True:
        with r.lock("digest", timeout=600):
            requests.post("http://mail/digest")
        time.sleep(600)


async def main():
    asyncio.create_task(hands_on())
    await asyncio.gather(asyncio.to_thread(works), asyncio.to_thread(takes), asyncio.to_thread(alone))
