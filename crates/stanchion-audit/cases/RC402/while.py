# also: RC403
import asyncio

import httpx


async def notify(client: httpx.AsyncClient, text: str) -> None:
    attempt = 0
    while attempt < 5:
        try:
            await client.post("https://chat.example/messages", json={"text": text})  # expect: RC402
            break
        except httpx.HTTPError:
            attempt += 1
            await asyncio.sleep(attempt)
