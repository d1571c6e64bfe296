import json

PATH = "/var/lib/agent/position.json"


def store(position: dict) -> None:
    with open(PATH, "w") as f:
        json.dump(position, f)  # expect: RC302


def current() -> dict:
    with open(PATH) as f:
        return json.load(f)
