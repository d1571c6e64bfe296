# deployment: cluster
import redis

r = redis.Redis()


def invalidate(user_id: int) -> None:
    r.delete(f"profile:{user_id}")


def guarded(name: str, work) -> None:
    with r.lock(f"lock:{name}", timeout=30):
        work()
