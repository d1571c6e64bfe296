import httpx
from tenacity import retry, stop_after_attempt, wait_exponential


@retry(stop=stop_after_attempt(3), wait=wait_exponential())
async def e3(client: httpx.AsyncClient, text: str) -> None:
    answer = await client.post("https://chat.example/messages", json={"text": text})  # expect: RC402
    answer.raise_for_status()


async def announce(text: str) -> None:
    async with httpx.AsyncClient() as client:
        await e3(client, text)
