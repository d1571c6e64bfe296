# also: RC302
# What is written is another thing for every caller, in whichever form it is put together.
import json
from pathlib import Path


def claim(who: str) -> None:
    if Path("a.json").read_text() != "free":
        raise ValueError("taken")
    Path("a.json").write_text(json.dumps(dict(owner=who)))  # expect: RC101 read=8
