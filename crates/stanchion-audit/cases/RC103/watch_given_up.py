import redis
from fastapi import FastAPI

app = FastAPI()
store = redis.Redis()


@app.post("/take/{show}")
def take(show: str, places: int):
    pipe = store.pipeline()
    pipe.watch(show)
    taken = int(pipe.get(show) or 0)
    pipe.unwatch()
    if taken + places > 100:
        raise ValueError("full")
    pipe.set(show, taken + places)  # expect: RC103 read=12
