# What is there is changed, and what is wanted is kept for the next time.
import redis

store = redis.Redis()


def move(name: str, place: str) -> None:
    key = "member:" + name
    if not store.exists(key):
        raise ValueError("there is none")
    store.hset(key, "place", place)


def page(name: str) -> str:
    key = "page:" + name
    if not store.exists(key):
        store.set(key, "text of " + name)
    return store.get(key)


def enter(name: str, place: str) -> None:
    key = "guest:" + name
    if store.exists(key) or not store.set(key, place, nx=True, ex=60):
        raise ValueError("it is taken")
