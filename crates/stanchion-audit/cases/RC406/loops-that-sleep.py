# deployment: cluster
import asyncio
import threading
import time

import requests
from fastapi import FastAPI

app = FastAPI()
stop = threading.Event()


async def by_task():
    while True:
        await asyncio.sleep(60)
        requests.post("http://mail/b")  # expect: RC406


def by_thread():
    while True:
        requests.post("http://mail/c")  # expect: RC406
        time.sleep(60)


def by_event():
    while not stop.wait(60):
        requests.post("http://mail/d")  # expect: RC406


@app.on_event("startup")
async def start():
    asyncio.create_task(by_task())
    threading.Thread(target=by_thread, daemon=True).start()
    threading.Thread(target=by_event, daemon=True).start()
