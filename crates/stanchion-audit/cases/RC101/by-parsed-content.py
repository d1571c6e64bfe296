# also: RC302
# What was read decides whether it is written, and is not in what is written.
import json
from pathlib import Path


def claim(who: str) -> None:
    state = json.loads(Path("a.json").read_text())
    if state["owner"]:
        raise ValueError("taken")
    Path("a.json").write_text(json.dumps({"owner": who}))  # expect: RC101 read=8


def newer(version: int) -> None:
    with open("c.json") as file:
        state = json.load(file)
    if state["version"] < version:
        with open("c.json", "w") as file:
            json.dump({"version": version}, file)  # expect: RC101 read=16
