import httpx


class Payments:
    def __init__(self):
        self.client = httpx.AsyncClient()

    async def charge(self, order, left=3):
        try:
            return await self.client.post("https://pay.example/charges", json=order)  # expect: RC402
        except Exception:
            if left == 0:
                raise
            return await self.charge(order, left=left - 1)
