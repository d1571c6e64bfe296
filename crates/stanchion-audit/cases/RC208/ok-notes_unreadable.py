# also: RC301, RC302, RC304
"""What cannot be understood is removed, but it says of nobody that he is at work."""
import json
import os

NOTES = "/run/press/notes.json"


def notes():
    if not os.path.exists(NOTES):
        return None
    try:
        with open(NOTES) as file:
            return json.load(file)
    except ValueError:
        os.remove(NOTES)
        return None


def keep(sheet):
    old = notes()
    if old is not None:
        return old["sheet"]
    with open(NOTES, "w") as file:
        json.dump({"sheet": sheet}, file)
    return sheet
