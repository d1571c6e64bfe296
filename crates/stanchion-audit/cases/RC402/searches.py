# also: RC403
import time

import httpx

BASE = "https://models.example/v1"


def keep(client: httpx.Client, search: dict) -> dict:
    for attempt in range(3):
        try:
            given = client.post(f"{BASE}/searches", json=search)  # expect: RC402
            given.raise_for_status()
            return given.json()
        except httpx.TimeoutException:
            time.sleep(2**attempt)
    raise RuntimeError("no answer")
