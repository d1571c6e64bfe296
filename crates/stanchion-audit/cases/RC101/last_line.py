import json
import os
import tempfile

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("cards")
FILE = "/data/cards.json"


def keep(cards):
    handle, name = tempfile.mkstemp(dir="/data")
    with os.fdopen(handle, "w") as f:
        json.dump(cards, f)
        f.write("\n")
    os.replace(name, FILE)  # expect: RC101 read=22


@mcp.tool()
def add(card: str) -> str:
    with open(FILE) as f:
        cards = json.load(f)
    cards.append(card)
    keep(cards)
    return "ok"
