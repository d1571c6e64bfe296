import asyncio

import httpx
from fastapi import FastAPI

app = FastAPI()


class Tally:
    def __init__(self, client: httpx.AsyncClient):
        self.client = client
        self.total = 0

    async def z(self, n: int) -> int:
        now = self.total
        await self.client.get(f"https://audit.example/{n}")
        self.total = now + n  # expect: RC104 read=15
        return self.total


tally = Tally(httpx.AsyncClient())


@app.post("/add/{n}")
async def add(n: int):
    return {"total": await tally.z(n)}
