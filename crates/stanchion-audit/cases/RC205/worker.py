import asyncio

import httpx


class W:
    def __init__(self):
        self.sem = asyncio.Semaphore(4)

    async def s1(self, client: httpx.AsyncClient, url: str) -> str:
        await self.sem.acquire()
        answer = await client.get(url)
        text = answer.text
        self.sem.release()  # expect: RC205 read=11
        return text
