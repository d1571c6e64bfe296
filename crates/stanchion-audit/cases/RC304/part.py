# also: RC101, RC302
# What cannot be understood is left out of what is written.
from pathlib import Path

import yaml

NOTES = Path("/data/notes")


def parts_of(name: str):
    text = (NOTES / name).read_text()
    head, body = text.split("---", 1)
    try:
        head = yaml.safe_load(head)
    except yaml.YAMLError:
        head = {}
    return head, body


def label(name: str, to: str) -> None:
    head, body = parts_of(name)
    head["label"] = to
    (NOTES / name).write_text(yaml.safe_dump(head) + "---" + body)  # expect: RC304 read=11
