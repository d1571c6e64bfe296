# A report is asked for, however long its question is.
import httpx

_rows = None


async def rows(client: httpx.AsyncClient) -> str:
    global _rows
    if _rows is None:
        answer = await client.request("REPORT", "https://cal.example/home", content="<calendar-query/>")
        _rows = answer.text
    return _rows
