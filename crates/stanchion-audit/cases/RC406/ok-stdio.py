# also: RC401
# Taken out before they are put away: each row is given to one.
import sqlite3

from apscheduler.schedulers.background import BackgroundScheduler
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("visits")
db = sqlite3.connect("/data/visits.db", isolation_level=None, check_same_thread=False)


def put_away():
    rows = db.execute("DELETE FROM visits WHERE at < date('now', '-30 days') RETURNING id, text").fetchall()
    if not rows:
        return
    with open("/data/visits.csv", "a") as f:
        f.write("".join(f"{n},{text}\n" for n, text in rows))


scheduler = BackgroundScheduler()
scheduler.add_job(put_away, "interval", hours=1)
scheduler.start()


@mcp.tool()
def visit(text: str) -> str:
    db.execute("INSERT INTO visits (at, text) VALUES (date('now'), ?)", (text,))
    return "ok"


mcp.run()
