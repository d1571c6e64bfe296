import time
from random import uniform

import requests


def foo():
    return uniform(0, 1)


def fetch(url: str) -> dict:
    while True:
        try:
            answer = requests.get(url, timeout=5)
            answer.raise_for_status()
            return answer.json()
        except requests.RequestException:
            x = foo()
            time.sleep(x)
