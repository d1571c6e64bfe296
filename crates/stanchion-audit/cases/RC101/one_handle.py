# also: RC302
# Read, emptied and written through one handle that was opened for writing at the end.
import json


def seat(guest: str) -> None:
    with open("/data/guests.json", "a+") as handle:
        handle.seek(0)
        guests = json.loads(handle.read() or "[]")
        guests.append(guest)
        handle.seek(0)
        handle.truncate()
        json.dump(guests, handle)  # expect: RC101 read=9
