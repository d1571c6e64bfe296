import httpx
from fastapi import FastAPI

app = FastAPI()


class Session:
    _token = None

    @classmethod
    async def token(cls):
        if cls._token is None:
            async with httpx.AsyncClient() as client:
                answer = await client.post("https://id.example/sessions")
            cls._token = answer.text  # expect: RC104 read=12
        return cls._token


@app.get("/")
async def home():
    return {"token": await Session.token()}
