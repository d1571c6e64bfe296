import threading

import requests

lock = threading.Lock()


def push(item: dict) -> int:
    lock.acquire()
    answer = requests.get("https://queue.example/head", timeout=5)
    if answer.status_code != 200:
        return 0
    position = answer.json()["position"]
    lock.release()  # expect: RC205 read=9
    return position
