# also: RC302
import json

from fastapi import FastAPI

FILE = "/data/log.jsonl"
app = FastAPI()


def entries():
    with open(FILE) as file:
        for line in file:
            yield json.loads(line)


@app.delete("/log/{id}")
async def forget(id: str):
    keep = [entry for entry in entries() if entry["id"] != id]
    with open(FILE, "w") as file:
        for entry in keep:
            file.write(json.dumps(entry) + "\n")  # expect: RC101 read=12
