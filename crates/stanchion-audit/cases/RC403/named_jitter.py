import time

import requests
from limits import random_jitter


def random_pause():
    return random_jitter


def fetch(url: str) -> dict:
    while True:
        try:
            answer = requests.get(url, timeout=5)  # expect: RC403
            answer.raise_for_status()
            return answer.json()
        except requests.RequestException:
            jitter = random_pause()
            time.sleep(jitter)
