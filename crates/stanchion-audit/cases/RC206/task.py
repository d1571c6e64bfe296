import asyncio

import httpx

BALANCES: dict[str, int] = {}


async def hh(name: str, amount: int, client: httpx.AsyncClient) -> int:
    guard = asyncio.Lock()
    async with guard:  # expect: RC206
        before = BALANCES.get(name, 0)
        await client.get(f"https://audit.example/{name}")
        BALANCES[name] = before + amount
    return BALANCES[name]
