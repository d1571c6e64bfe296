# also: RC302, RC201, RC101
import json
import threading
from pathlib import Path

from flask import Flask, request

app = Flask(__name__)
STATE = Path("/data/state.json")


@app.post("/votes")
def vote():
    lock = threading.Lock()
    with lock:  # expect: RC206
        state = json.loads(STATE.read_text())
        state[request.json["choice"]] = state.get(request.json["choice"], 0) + 1
        STATE.write_text(json.dumps(state))
    return state
