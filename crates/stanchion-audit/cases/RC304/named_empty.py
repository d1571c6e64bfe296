# also: RC101, RC302
import json
from pathlib import Path

FILE = Path("/data/graph.json")


class Graph:
    def __init__(self, things, links):
        self.things = things
        self.links = links


def load() -> Graph:
    try:
        found = json.loads(FILE.read_text())
        return Graph(things=found["things"], links=found["links"])
    except Exception:
        empty = Graph(things=[], links=[])
        return empty


def add(thing: dict) -> None:
    graph = load()
    graph.things.append(thing)
    FILE.write_text(json.dumps({"things": graph.things, "links": graph.links}))  # expect: RC304 read=16
