# deployment: cluster; also: RC202
import redis

r = redis.Redis()


def sweep(work) -> bool:
    if not r.set("lock:sweep", "1", nx=True, ex=120):
        return False
    try:
        work()
    finally:
        r.delete("lock:sweep")
    return True
