import httpx


class Client:
    def __init__(self, http: httpx.AsyncClient):
        self.http = http

    async def fetch(self, url: str) -> str:
        for _ in range(5):
            try:
                answer = await self.http.get(url)  # expect: RC403
                return answer.text
            except httpx.HTTPError:
                continue
        raise RuntimeError("gave up")
