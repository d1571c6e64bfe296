# also: RC101, RC301, RC302
from pathlib import Path

import yaml

NOTES = Path("/data/notes")


def load(name: str):
    path = NOTES / name
    if not path.exists():
        return None
    try:
        with open(path, encoding="utf-8") as file:
            note = yaml.safe_load(file)
    except (yaml.YAMLError, OSError) as error:
        print(error)
        return None
    note["name"] = name
    return note


def append(name: str, text: str) -> None:
    note = load(name)
    if note is not None:
        note["text"] += text
        (NOTES / name).write_text(yaml.safe_dump(note))
    else:
        (NOTES / name).write_text(yaml.safe_dump({"text": text}))  # expect: RC304 read=15
