import asyncio

import aiofiles


async def log(line: str) -> None:
    async with aiofiles.open("/var/log/requests.log", "a") as f:
        await f.write(line + "\n")


async def report(name: str, text: str) -> None:
    async with aiofiles.open(f"/srv/reports/{name}.txt", "w") as f:
        await f.write(text)


async def handle(name: str, text: str) -> str:
    asyncio.create_task(log(name))
    asyncio.create_task(report(name, text))
    return "started"
