# also: RC302
# What is stored is put into a map that has its defaults already, here and by a helper.
import json
from pathlib import Path

MENU = Path("/data/menu.json")


def offer(dish: str) -> None:
    menu = {"dishes": [], "day": "monday"}
    if MENU.exists():
        menu.update(json.loads(MENU.read_text()))
    menu["dishes"].append(dish)
    MENU.write_text(json.dumps(menu))  # expect: RC101 read=12


def put_stored_into(menu: dict) -> None:
    menu.update(json.loads(MENU.read_text()))


def close(day: str) -> None:
    menu = {}
    put_stored_into(menu)
    menu["closed"] = day
    MENU.write_text(json.dumps(menu))  # expect: RC101 read=18
