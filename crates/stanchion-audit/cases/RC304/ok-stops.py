# also: RC101, RC302
import json
import logging


def merge(path: str, more: dict) -> bool:
    try:
        with open(path) as f:
            data = json.load(f)
    except (OSError, ValueError) as error:
        logging.error("cannot read %s: %s", path, error)
        return False
    data.update(more)
    with open(path, "w") as f:
        json.dump(data, f)
    return True
