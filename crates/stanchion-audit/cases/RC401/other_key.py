# The key is about something else than what was asked for.
import sqlite3
import uuid

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("labels")
db = sqlite3.connect("/data/labels.db")
db.execute("CREATE TABLE IF NOT EXISTS labels (id TEXT PRIMARY KEY, title TEXT NOT NULL)")


@mcp.tool()
def label(title: str) -> str:
    row = db.execute("SELECT id FROM labels WHERE title = ?", (title,)).fetchone()
    if row:
        return row[0]
    new = str(uuid.uuid4())
    db.execute("INSERT INTO labels (id, title) VALUES (?, ?)", (new, title))  # expect: RC401 read=14
    db.commit()
    return new
