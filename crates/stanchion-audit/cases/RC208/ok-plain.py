# also: RC301, RC302
import json
import os
import time

CACHE = "/var/cache/rates.json"
OWNER = "/run/printer/owner"


def rates(fetch) -> dict:
    # What is kept for some time says of nobody that he is at work.
    if os.path.exists(CACHE):
        with open(CACHE) as file:
            kept = json.load(file)
        if kept["at"] > time.time() - 60:
            return kept
        os.remove(CACHE)
    made = fetch()
    with open(CACHE, "w") as file:
        json.dump(made, file)
    return made


def end() -> None:
    # Nobody takes it here.
    if os.path.exists(OWNER):
        with open(OWNER) as file:
            number = int(file.read())
        if number == os.getpid():
            os.remove(OWNER)
