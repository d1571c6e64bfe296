# deployment: cluster; also: RC202
import httpx
import redis.asyncio as redis

r = redis.Redis()


async def pay(key: str, order: dict, client: httpx.AsyncClient) -> dict:
    if not await r.set(f"idem:{key}", "begun", nx=True, ex=86400):
        raise RuntimeError("in flight")
    try:
        answer = await client.post("https://pay.example/charges", json=order, timeout=5)
        return answer.json()
    except Exception:
        await r.delete(f"idem:{key}")  # expect: RC404 read=12
        raise
