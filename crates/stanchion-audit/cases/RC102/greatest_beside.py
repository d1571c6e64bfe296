# The database keeps the greater time, but what was shown comes from the read.
import sqlite3
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("meters")
db = sqlite3.connect("/var/lib/meters/meters.db", check_same_thread=False)


@mcp.tool()
def note(name: str, more: str) -> int:
    last, shown = db.execute("SELECT last_seen, shown FROM meters WHERE name = ?", (name,)).fetchone()
    now = max(last, int(time.time()))
    db.execute("UPDATE meters SET last_seen = max(last_seen, ?), shown = ? WHERE name = ?", (now, shown + more, name))  # expect: RC102
    db.commit()
    return now
