import time

import requests


def h3(url: str) -> dict:
    while True:
        try:
            answer = requests.get(url, timeout=5)  # expect: RC403
            answer.raise_for_status()
            return answer.json()
        except requests.RequestException:
            time.sleep(5)
