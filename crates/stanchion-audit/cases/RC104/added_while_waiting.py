import httpx
from fastapi import FastAPI

app = FastAPI()


class Till:
    def __init__(self):
        self.total = 0

    async def add(self, order):
        self.total += await self.price(order)  # expect: RC104 read=12

    async def price(self, order):
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"https://shop.example/prices/{order}")
        return answer.json()["amount"]


till = Till()


@app.post("/orders/{order}")
async def ordered(order: str):
    await till.add(order)
