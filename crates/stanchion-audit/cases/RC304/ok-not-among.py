# also: RC302, RC101
# As many as before: it was not among them, and nothing is saved.
import json

BEDS = "/data/beds.json"


def beds():
    try:
        with open(BEDS) as file:
            return json.load(file)
    except Exception:
        return []


def clear(name):
    every = beds()
    rest = [bed for bed in every if bed["name"] != name]
    if len(rest) < len(every):
        with open(BEDS, "w") as file:
            json.dump(rest, file)
