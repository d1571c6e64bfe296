import asyncio

import httpx


class Tokens:
    def __init__(self):
        self.lock = asyncio.Lock()
        self.value = None
        self.seen = 0

    async def get(self, client: httpx.AsyncClient) -> str:
        async with self.lock:
            if self.value is None:
                answer = await client.get("https://auth.example/token")
                self.value = answer.json()["token"]
            return self.value

    async def count(self, client: httpx.AsyncClient) -> int:
        await client.get("https://auth.example/ping")
        self.seen += 1
        return self.seen
