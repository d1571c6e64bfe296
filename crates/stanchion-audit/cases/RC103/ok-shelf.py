import fcntl
import shelve

from diskcache import Cache


def count(key):
    with open("/data/s.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with shelve.open("/data/s") as s:
            s[key] = s[key] + 1


def put(key, value):
    with shelve.open("/data/s") as s:
        s[key] = value


cache = Cache("/data/cache")


def again(key):
    with cache.transact():
        cache[key] = cache[key] + 1
