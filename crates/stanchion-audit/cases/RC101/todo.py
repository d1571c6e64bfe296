# also: RC304, RC301
import json
from datetime import datetime
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("todo")
STATE = Path.home() / ".todo" / "items.json"


def _x() -> list[dict]:
    if not STATE.exists():
        return []
    with open(STATE, encoding="utf-8") as f:
        return json.load(f)


def _y(items: list[dict]) -> None:
    STATE.parent.mkdir(parents=True, exist_ok=True)
    with open(STATE, "w", encoding="utf-8") as f:
        json.dump(items, f, indent=2)  # expect: RC101 read=16, RC302


@mcp.tool()
def add_item(text: str) -> str:
    """Add an item to the list."""
    items = _x()
    items.append({"id": len(items) + 1, "text": text, "at": datetime.now().isoformat()})
    _y(items)
    return f"added {text}"


@mcp.tool()
def items() -> list[dict]:
    """All items."""
    return _x()


if __name__ == "__main__":
    mcp.run()
