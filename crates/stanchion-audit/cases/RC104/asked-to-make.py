# Each call makes a calendar.
import httpx

_made = None


async def made(client: httpx.AsyncClient) -> str:
    global _made
    if _made is None:
        answer = await client.request("MKCALENDAR", "https://cal.example/home", content="<name/>")
        _made = answer.text  # expect: RC104 read=9
    return _made
