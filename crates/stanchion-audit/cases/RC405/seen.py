import requests
from flask import Flask, request

app = Flask(__name__)
o3 = set()


@app.post("/hook")
def hook():
    event = request.get_json()
    if event["id"] in o3:
        return "", 200
    o3.add(event["id"])  # expect: RC405 read=11
    requests.post("https://ledger.example/credit", json=event, timeout=5)
    return "", 200
