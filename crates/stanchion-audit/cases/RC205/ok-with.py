import threading

import requests

lock = threading.Lock()


def push(item: dict) -> int:
    with lock:
        answer = requests.get("https://queue.example/head", timeout=5)
        if answer.status_code != 200:
            return 0
        return answer.json()["position"]


def pull() -> int:
    lock.acquire()
    try:
        return requests.get("https://queue.example/tail", timeout=5).json()["position"]
    finally:
        lock.release()
