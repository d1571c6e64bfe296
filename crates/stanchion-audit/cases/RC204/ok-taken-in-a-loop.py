# deployment: cluster; also: RC202, RC203, RC205
import time

import redis

r = redis.Redis()


def hold(key: str, work) -> None:
    while True:
        if r.setnx(key, "1"):
            r.expire(key, 30)
            break
        time.sleep(0.1)
    try:
        work()
    finally:
        r.delete(key)
