# also: RC302, RC201
# Each loop ends only when the lock was had.
import fcntl
import json
import threading
import time
import uuid

import redis

store = redis.Redis()
guard = threading.Lock()
RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end"


def while_not() -> None:
    token = str(uuid.uuid4())
    while not store.set("first", token, nx=True, px=5000):
        time.sleep(0.1)
    try:
        store.set("n", int(store.get("n")) + 1)
    finally:
        store.eval(RELEASE, 1, "first", token)


def until_break() -> None:
    token = str(uuid.uuid4())
    while True:
        if store.set("second", token, nx=True, ex=5):
            break
        time.sleep(0.1)
    try:
        store.set("m", int(store.get("m")) + 1)
    finally:
        store.eval(RELEASE, 1, "second", token)


def by_variable() -> None:
    token = str(uuid.uuid4())
    had = False
    while not had:
        had = store.set("third", token, nx=True, ex=5)
        time.sleep(0.1)
    try:
        store.set("o", int(store.get("o")) + 1)
    finally:
        store.eval(RELEASE, 1, "third", token)


def limited(until: float) -> bool:
    token = str(uuid.uuid4())
    while not store.set("fourth", token, nx=True, ex=5):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    try:
        store.set("p", int(store.get("p")) + 1)
    finally:
        store.eval(RELEASE, 1, "fourth", token)
    return True


def take(token: str) -> None:
    for _ in range(50):
        if store.set("fifth", token, nx=True, ex=5):
            return
        time.sleep(0.1)
    raise TimeoutError("busy")


def by_helper() -> None:
    token = str(uuid.uuid4())
    take(token)
    try:
        store.set("q", int(store.get("q")) + 1)
    finally:
        store.eval(RELEASE, 1, "fifth", token)


def of_threads() -> None:
    while not guard.acquire(blocking=False):
        time.sleep(0.1)
    try:
        with open("a.json") as file:
            all = json.load(file)
        all.append(1)
        with open("a.json", "w") as file:
            json.dump(all, file)
    finally:
        guard.release()


def of_file() -> None:
    lock = open("b.lock", "w")
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.1)
    try:
        with open("b.json") as file:
            all = json.load(file)
        all.append(1)
        with open("b.json", "w") as file:
            json.dump(all, file)
    finally:
        lock.close()


def of_file_for_a_while() -> None:
    lock = open("c.lock", "w")
    for _ in range(50):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.1)
    else:
        raise TimeoutError("busy")
    try:
        with open("c.json") as file:
            all = json.load(file)
        all.append(1)
        with open("c.json", "w") as file:
            json.dump(all, file)
    finally:
        lock.close()
