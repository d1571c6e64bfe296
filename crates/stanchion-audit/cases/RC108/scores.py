# also: RC302, RC107
import asyncio
import json

import aiofiles


class Scores:
    def __init__(self, path: str):
        self.path = path
        self.points = {}

    async def load(self) -> None:
        async with aiofiles.open(self.path) as f:
            self.points = json.loads(await f.read())

    async def _t4(self) -> None:
        async with aiofiles.open(self.path, "w") as f:
            await f.write(json.dumps(self.points))  # expect: RC108

    def hit(self, player: str) -> None:
        self.points[player] = self.points.get(player, 0) + 1
        asyncio.ensure_future(self._t4())
