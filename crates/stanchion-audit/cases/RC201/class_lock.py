# also: RC302
import asyncio
import json


class Shelf:
    _lock = asyncio.Lock()

    def __init__(self, path=None):
        self.path = path or "/data/shelf.json"

    def _take(self):
        with open(self.path) as f:
            return json.load(f)

    def _give(self, data):
        with open(self.path, "w") as f:
            json.dump(data, f)  # expect: RC201 read=14

    async def add(self, name):
        async with self._lock:
            data = self._take()
            data["items"].append(name)
            data["next"] += 1
            self._give(data)
        return name
