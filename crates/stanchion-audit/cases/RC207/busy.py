import asyncio


class Writer:
    def __init__(self, sink):
        self.sink = sink
        self.busy = False
        self.done = asyncio.Event()

    async def save(self, batch: list[str]) -> None:
        if self.busy:
            await self.done.wait()
        self.busy = True  # expect: RC207 read=11
        self.done.clear()
        await self.sink.write(batch)
        self.busy = False
        self.done.set()
