# deployment: cluster; also: RC202, RC205, RC403
import time

import redis

r = redis.Redis()


def run(name: str, work) -> None:
    key = f"lock:{name}"
    while not r.set(key, "1", nx=True):  # expect: RC203
        time.sleep(0.1)
    try:
        work()
    finally:
        r.delete(key)
