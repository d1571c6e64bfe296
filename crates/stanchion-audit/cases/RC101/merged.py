# also: RC302
import json

ROSTER = "/var/lib/crew/roster.json"


def known():
    with open(ROSTER) as f:
        return json.load(f)


def names():
    return known()["names"]


def put(names):
    all = known()
    all["names"] = names
    with open(ROSTER, "w") as f:
        json.dump(all, f)  # expect: RC101 read=17


def hire(name):
    mine = names()
    mine.append(name)
    put(mine)  # expect: RC101 read=24
