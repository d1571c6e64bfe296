# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("boards")
ROOT = Path("/data/boards")


def place(board_id: str) -> Path:
    return ROOT / f"{board_id}.json"


def old(board_id: str):
    path = place(board_id)
    if not path.exists():
        return None
    return json.loads(path.read_text())


def keep(board: dict) -> None:
    place(board["head"]["id"]).write_text(json.dumps(board))  # expect: RC101 read=19


@mcp.tool()
def refresh(board: dict, lists: list) -> str:
    known = old(board["id"])
    names = known["names"] if known else []
    keep({"head": {"id": board.get("id")}, "names": names + lists})
    return "ok"
