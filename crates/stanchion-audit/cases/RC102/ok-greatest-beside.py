# What the database computes from the row as it is then overwrites nothing, whatever else the statement sets.
import sqlite3
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("meters")
db = sqlite3.connect("/var/lib/meters/meters.db", check_same_thread=False)


@mcp.tool()
def note(name: str, shown: str) -> int:
    last, _ = db.execute("SELECT last_seen, shown FROM meters WHERE name = ?", (name,)).fetchone()
    now = max(last, int(time.time()))
    db.execute("UPDATE meters SET last_seen = max(last_seen, ?), shown = ? WHERE name = ?", (now, shown, name))
    db.commit()
    return now
