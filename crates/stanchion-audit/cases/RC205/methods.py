import asyncio

import httpx

GATE = asyncio.Lock()


class Turn:
    async def begin(self):
        await GATE.acquire()

    async def end(self):
        GATE.release()  # expect: RC205 read=10


async def first(client: httpx.AsyncClient) -> None:
    turn = Turn()
    await turn.begin()
    await client.get("https://shop.example/a")
    await turn.end()
