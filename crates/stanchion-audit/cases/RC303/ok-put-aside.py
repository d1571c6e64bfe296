# also: RC101, RC302, RC304
# The file itself is put aside: it is no temporary one.
import json
import os
import time

PLACE = "/data/queue.json"


def load():
    try:
        with open(PLACE) as file:
            return json.load(file)
    except ValueError:
        os.replace(PLACE, PLACE + ".bad-" + str(time.time()))
        return []


def main() -> None:
    queue = load()
    with open(PLACE, "w") as file:
        json.dump(queue, file)
    load()
