# also: RC302, RC107
import asyncio
import json

import aiofiles

state: dict[str, str] = {}


async def w(data: dict[str, str]) -> None:
    async with aiofiles.open("/data/state.json", "w") as f:
        await f.write(json.dumps(data))  # expect: RC108


async def load() -> None:
    async with aiofiles.open("/data/state.json") as f:
        state.update(json.loads(await f.read()))


async def set_value(key: str, value: str) -> None:
    state[key] = value
    asyncio.create_task(w(dict(state)))
