# deployment: cluster
import redis
import requests
from flask import Flask, request

app = Flask(__name__)
r = redis.Redis()


@app.post("/hook")
def hook():
    event = request.get_json()
    if not r.set(f"evt:{event['id']}", "1", nx=True, ex=600):  # expect: RC405
        return "", 200
    requests.post("https://ledger.example/credit", json=event, timeout=5)
    return "", 200
