import sqlite3
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

mcp = FastMCP("words")
db = sqlite3.connect("/data/words.db")


def put(key: str, body: str) -> None:
    db.execute("DELETE FROM old_words WHERE entry_id = ?", (key,))
    db.execute("INSERT INTO words (body, entry_id) VALUES (?, ?)", (body, key))  # expect: RC407 read=18
    db.commit()


@mcp.tool(annotations=ToolAnnotations(idempotentHint=True))
def refresh() -> str:
    for line in Path("/data/log.md").read_text().splitlines():
        put(line, line)
    return "done"
