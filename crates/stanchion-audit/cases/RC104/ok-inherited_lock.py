import asyncio


class Counted:
    def __init__(self):
        self.count = 0
        self.lock = asyncio.Lock()


class Named(Counted):
    kept: dict[str, int]


class Shared:
    lock = asyncio.Lock()


class Plain(Shared):
    def __init__(self):
        self.count = 0

    async def add(self) -> int:
        async with self.lock:
            before = self.count
            await asyncio.sleep(0)
            self.count = before + 1
            return self.count


class Own(Named):
    async def add(self) -> int:
        async with self.lock:
            before = self.count
            await asyncio.sleep(0)
            self.count = before + 1
            return self.count


own, plain = Own(), Plain()


async def add_both() -> int:
    return await own.add() + await plain.add()
