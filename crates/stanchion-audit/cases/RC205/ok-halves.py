# Whoever enters it leaves it.
import asyncio

import httpx

GATE = asyncio.Lock()


class Turn:
    async def __aenter__(self):
        await GATE.acquire()

    async def __aexit__(self, *error):
        GATE.release()


async def first(client: httpx.AsyncClient) -> None:
    turn = Turn()
    await turn.__aenter__()
    await client.get("https://shop.example/a")
    await turn.__aexit__(None, None, None)
