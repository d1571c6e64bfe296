import httpx

_pages = {}
_stats = {"hits": 0}


async def page(client: httpx.AsyncClient, url: str) -> str:
    if url in _pages:
        _stats["hits"] += 1
        return _pages[url]
    answer = await client.get(url)
    _pages[url] = answer.text
    return answer.text


async def total(client: httpx.AsyncClient, urls: list[str]) -> int:
    data = 0
    for url in urls:
        data += len(await page(client, url))
    return data
