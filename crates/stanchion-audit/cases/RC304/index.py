# also: RC101, RC302
import json
import logging


def y1(p):
    try:
        with open(p) as f:
            return json.load(f)
    except (OSError, ValueError):
        logging.warning("no index")
        return []


def y2(p, item):
    items = y1(p)
    items.append(item)
    with open(p, "w") as f:
        json.dump(items, f)  # expect: RC304 read=9
