# also: RC302
from pathlib import Path

from ruamel.yaml import YAML

PLACE = Path("/data/settings.yaml")


def put(name: str, value: str) -> None:
    yaml = YAML()
    settings = yaml.load(PLACE)
    settings[name] = value
    yaml.dump(settings, PLACE)  # expect: RC101 read=11
