# also: RC101, RC302
# What cannot be understood is only shown; all of the text is written again.
from pathlib import Path

import yaml

NOTES = Path("/data/notes")


def parts_of(name: str):
    text = (NOTES / name).read_text()
    try:
        head = yaml.safe_load(text.split("---")[1])
    except yaml.YAMLError:
        head = {}
    return text, head


def sign(name: str, who: str) -> str:
    text, head = parts_of(name)
    (NOTES / name).write_text(text + f"\nsigned {who}")
    return head.get("title", name)
