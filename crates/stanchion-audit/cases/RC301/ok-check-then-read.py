import json
import os
from pathlib import Path

SETTINGS = Path("/etc/app/settings.json")


def settings() -> dict:
    if not SETTINGS.exists():
        return {}
    return json.loads(SETTINGS.read_text())


def clean(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
