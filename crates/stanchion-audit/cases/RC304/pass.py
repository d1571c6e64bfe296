# also: RC101, RC302
import json


def merge(path: str, more: dict) -> None:
    data = {}
    try:
        with open(path) as f:
            data = json.load(f)
    except Exception:
        pass
    data.update(more)
    with open(path, "w") as f:
        json.dump(data, f)  # expect: RC304 read=9
