# The parts are given once more where all of them are there already.
class Request:
    def __init__(self, receive):
        self.receive = receive

    async def stream(self):
        if hasattr(self, "_body"):
            yield self._body
            return
        while part := await self.receive():
            yield part

    async def body(self):
        if not hasattr(self, "_body"):
            parts = []
            async for part in self.stream():
                parts.append(part)
            self._body = b"".join(parts)
        return self._body
