import sqlite3
import uuid

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("labels")
db = sqlite3.connect("/data/labels.db")
db.executescript(
    """
    CREATE TABLE IF NOT EXISTS labels (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        UNIQUE (title)
    );
    """
)


@mcp.tool()
def label(title: str) -> str:
    row = db.execute("SELECT id FROM labels WHERE title = ?", (title,)).fetchone()
    if row:
        return row[0]
    new = str(uuid.uuid4())
    db.execute("INSERT INTO labels (id, title) VALUES (?, ?)", (new, title))
    db.commit()
    return new
