import httpx

data = {}
result = None


async def summary(client: httpx.AsyncClient, url: str) -> dict:
    data = (await client.get(url)).json()
    more = (await client.get(url + "/more")).json()
    data.update(more)
    result = {"n": len(data)}
    await client.get(url + "/seen")
    result["done"] = True
    return result
