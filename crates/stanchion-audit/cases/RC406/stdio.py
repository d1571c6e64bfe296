# also: RC401
# Old rows are put away by whoever comes: two processes put them away twice.
import sqlite3

from apscheduler.schedulers.background import BackgroundScheduler
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("visits")
db = sqlite3.connect("/data/visits.db", isolation_level=None, check_same_thread=False)


def put_away():
    rows = db.execute("SELECT id, text FROM visits WHERE at < date('now', '-30 days')").fetchall()
    if not rows:
        return
    with open("/data/visits.csv", "a") as f:
        f.write("".join(f"{n},{text}\n" for n, text in rows))  # expect: RC406
    db.execute("DELETE FROM visits WHERE at < date('now', '-30 days')")


scheduler = BackgroundScheduler()
scheduler.add_job(put_away, "interval", hours=1)
scheduler.start()


@mcp.tool()
def visit(text: str) -> str:
    db.execute("INSERT INTO visits (at, text) VALUES (date('now'), ?)", (text,))
    return "ok"


mcp.run()
