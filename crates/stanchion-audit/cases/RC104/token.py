import httpx

_token = None


async def token() -> str:
    global _token
    if _token is None:
        async with httpx.AsyncClient() as client:
            answer = await client.post("https://auth.example/token")
        _token = answer.json()["token"]  # expect: RC104 read=8
    return _token


async def call(path: str) -> dict:
    async with httpx.AsyncClient() as client:
        answer = await client.get(path, headers={"authorization": await token()})
    return answer.json()
