import asyncio


class Quota:
    def __init__(self):
        self.sent = 0

    async def send(self, text):
        if self.sent >= 100:
            raise RuntimeError("limit")
        await asyncio.sleep(0)
        self.sent += 1  # expect: RC104 read=9


quota = Quota()


async def send(text):
    await quota.send(text)
