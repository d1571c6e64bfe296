# also: RC302
import json
import threading
from pathlib import Path

LOCK = threading.Lock()
FILE = Path("/var/lib/bot/state.json")


def load() -> dict:
    with LOCK:
        return json.loads(FILE.read_text())


def save(state: dict) -> None:
    with LOCK:
        FILE.write_text(json.dumps(state))  # expect: RC105 read=12


def on_message(user: str) -> int:
    state = load()
    state[user] = state.get(user, 0) + 1
    save(state)
    return state[user]
