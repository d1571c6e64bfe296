# also: RC302
import json
from pathlib import Path


class Settings:
    def __init__(self, path):
        self.path = Path(path)

    @property
    def all(self):
        return json.loads(self.path.read_text())

    @all.setter
    def all(self, value):
        self.path.write_text(json.dumps(value))  # expect: RC101 read=12


settings = Settings("/data/settings.json")


def put(name, value):
    known = settings.all
    known[name] = value
    settings.all = known
