import redis

store = redis.Redis()


def enter(name: str, place: str) -> None:
    key = "member:" + name
    if store.exists(key):
        raise ValueError("it is taken")
    store.hset(key, "place", place)  # expect: RC401 read=8
