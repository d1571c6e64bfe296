import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("events")
db = sqlite3.connect("/data/events.db")


def c3(event_id: str) -> bool:
    return db.execute("SELECT 1 FROM events WHERE event_id = ?", (event_id,)).fetchone() is not None


@mcp.tool()
def handle(event_id: str, payload: str) -> str:
    if c3(event_id):
        return "seen"
    db.execute("INSERT INTO events (event_id, payload) VALUES (?, ?)", (event_id, payload))  # expect: RC401 read=10
    db.commit()
    return "handled"
