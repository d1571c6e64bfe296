# also: RC302
import json


def place(seat):
    return f"/var/lib/hall/{seat}.json"


def book(seat, guest):
    with open(place(seat)) as f:
        kept = json.load(f)
    if kept["state"] not in ("free", "offered"):
        return False
    with open(place(seat), "w") as f:
        json.dump({"state": "booked", "guest": guest}, f)  # expect: RC101 read=11
    return True

