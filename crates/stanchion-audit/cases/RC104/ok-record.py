# What a call is given is its own, and who looks again under the lock has looked.
import asyncio
from dataclasses import dataclass


@dataclass
class Node:
    name: str
    vector: list | None = None


class Index:
    def __init__(self, model):
        self.model = model
        self.ready = None
        self.gate = asyncio.Lock()

    async def fill(self, node: Node) -> Node:
        if node.vector is None:
            found = await self.model.embed(node.name)
            node.vector = found
        return node

    async def start(self):
        if self.ready is not None:
            return self.ready
        async with self.gate:
            if self.ready is None:
                opened = await self.model.open()
                self.ready = opened
        return self.ready
