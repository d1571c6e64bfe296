# also: RC302
# A part of what they need was given to both, and it is not the same.
import json
from functools import partial
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")


def loaded(path: Path) -> dict:
    return json.loads(path.read_text())


def saved(path: Path, what: dict) -> None:
    path.write_text(json.dumps(what))


hives = partial(loaded, Path("/srv/hives.json"))
keep = partial(saved, Path("/srv/kept.json"))
Opened = partial(dict, open=True)


@mcp.tool()
async def copy(name: str) -> str:
    found = hives()
    found[name] = Opened()
    keep(found)
    return "done"
