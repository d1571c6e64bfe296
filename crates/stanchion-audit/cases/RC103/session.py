# deployment: cluster
import json

import redis.asyncio as redis
from fastapi import FastAPI

app = FastAPI()
r = redis.Redis(host="cache")


async def alpha(sid: str) -> dict:
    raw = await r.get(f"session:{sid}")
    return json.loads(raw) if raw else {}


async def beta(sid: str, data: dict) -> None:
    await r.set(f"session:{sid}", json.dumps(data), ex=3600)  # expect: RC103 read=12


@app.post("/session/{sid}/flags/{flag}")
async def set_flag(sid: str, flag: str):
    data = await alpha(sid)
    data[flag] = True
    await beta(sid, data)
    return data
