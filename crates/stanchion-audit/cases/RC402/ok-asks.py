# also: RC403
# What is asked twice is answered twice, and nothing else.
import time

import httpx

BASE = "https://models.example/v1"


def answer(client: httpx.Client, question: dict) -> dict:
    for attempt in range(3):
        try:
            given = client.post(f"{BASE}/chat/completions", json=question)
            given.raise_for_status()
            return given.json()
        except httpx.TimeoutException:
            time.sleep(2**attempt)
    raise RuntimeError("no answer")
