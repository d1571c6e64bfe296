import redis
from fastapi import FastAPI

app = FastAPI()
store = redis.Redis()


@app.post("/take/{show}")
def take(show: str, places: int):
    with store.pipeline() as pipe:
        while True:
            try:
                pipe.watch(show)
                taken = int(pipe.get(show) or 0)
                if taken + places > 100:
                    pipe.unwatch()
                    return {"full": True}
                pipe.multi()
                pipe.set(show, taken + places)
                pipe.execute()
                return {"taken": taken + places}
            except redis.WatchError:
                continue


@app.post("/put/{show}")
def put(show: str, places: int):
    pipe = store.pipeline()
    pipe.watch(show)
    taken = int(pipe.get(show) or 0)
    if taken + places > 100:
        pipe.reset()
        raise ValueError("full")
    pipe.multi()
    pipe.set(show, taken + places)
    pipe.execute()
