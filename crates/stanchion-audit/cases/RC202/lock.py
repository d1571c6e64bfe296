# deployment: cluster
import contextlib
import uuid

import redis

r = redis.Redis()


@contextlib.contextmanager
def hold(name: str, seconds: int = 30):
    token = str(uuid.uuid4())
    if not r.set(f"lock:{name}", token, nx=True, ex=seconds):
        raise RuntimeError("busy")
    try:
        yield token
    finally:
        if r.get(f"lock:{name}") == token.encode():
            r.delete(f"lock:{name}")  # expect: RC202


def rebuild(index: str, build) -> None:
    with hold(index):
        build(index)
