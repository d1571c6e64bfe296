# also: RC302
# What is stored is put into another map than the one that is written.
import json
from pathlib import Path

MENU = Path("/data/menu.json")


def offer(dish: str) -> dict:
    shown, menu = {}, {"dishes": []}
    shown.update(json.loads(MENU.read_text()))
    menu.update({"dishes": [dish]})
    MENU.write_text(json.dumps(menu))
    return shown
