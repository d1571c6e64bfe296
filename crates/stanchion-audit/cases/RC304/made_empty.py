# also: RC101, RC302
# What is empty is made by a function, a method, or a class.
import json
from dataclasses import dataclass, field
from pathlib import Path

TAGS = Path("/data/tags.json")
NAMES = Path("/data/names.json")
MARKS = Path("/data/marks.json")


@dataclass
class Tags:
    all: list = field(default_factory=list)


def no_names():
    return {"all": []}


def tag(name: str) -> None:
    text = TAGS.read_text()
    try:
        tags = Tags(**json.loads(text))
    except ValueError:
        tags = Tags()
    tags.all.append(name)
    TAGS.write_text(json.dumps(tags.all))  # expect: RC304 read=22


def name(name: str) -> None:
    text = NAMES.read_text()
    try:
        names = json.loads(text)
    except ValueError:
        names = no_names()
    names["all"].append(name)
    NAMES.write_text(json.dumps(names))  # expect: RC304 read=32


class Marks:
    def none(self):
        return []

    def load(self):
        text = MARKS.read_text()
        try:
            return json.loads(text)
        except ValueError:
            return self.none()

    def mark(self, name: str) -> None:
        marks = self.load()
        marks.append(name)
        MARKS.write_text(json.dumps(marks))  # expect: RC304 read=46
