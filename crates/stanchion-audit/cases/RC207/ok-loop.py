import asyncio


class Writer:
    def __init__(self, sink):
        self.sink = sink
        self.busy = False
        self.done = asyncio.Event()

    async def save(self, batch: list[str]) -> None:
        while self.busy:
            await self.done.wait()
        self.busy = True
        self.done.clear()
        try:
            await self.sink.write(batch)
        finally:
            self.busy = False
            self.done.set()
