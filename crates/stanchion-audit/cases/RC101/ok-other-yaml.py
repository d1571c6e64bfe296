# also: RC302
# What is written is made from a template, which stays as it is.
from pathlib import Path

from ruamel.yaml import YAML

PLACE = Path("/data/settings.yaml")
PATTERN = Path("/data/pattern.yaml")


def reset(name: str) -> None:
    yaml = YAML()
    settings = yaml.load(PATTERN)
    settings["name"] = name
    yaml.dump(settings, PLACE)
