# It asks fifty times, or until it is too late, and goes on without the lock.
import time
import uuid

import redis

store = redis.Redis()
RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end"


def counted() -> None:
    token = str(uuid.uuid4())
    for _ in range(50):
        if store.set("first", token, nx=True, ex=5):
            break
        time.sleep(0.1)
    try:
        store.set("n", int(store.get("n")) + 1)  # expect: RC209 read=14
    finally:
        store.eval(RELEASE, 1, "first", token)


def timed(until: float) -> None:
    token = str(uuid.uuid4())
    while True:
        if store.set("second", token, nx=True, ex=5):
            break
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    try:
        store.set("m", int(store.get("m")) + 1)  # expect: RC209 read=26
    finally:
        store.eval(RELEASE, 1, "second", token)


def take(token: str, until: float) -> bool:
    while not store.set("third", token, nx=True, ex=5):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def not_asked(until: float) -> None:
    token = str(uuid.uuid4())
    take(token, until)
    try:
        store.set("o", int(store.get("o")) + 1)  # expect: RC209 read=38
    finally:
        store.eval(RELEASE, 1, "third", token)
