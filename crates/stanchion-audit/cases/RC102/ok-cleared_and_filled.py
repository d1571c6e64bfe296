# also: RC401
# Rows are removed and put back where nobody comes in between; or others are removed, or put somewhere else.
import sqlite3
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
db = sqlite3.connect("/srv/hives.db", isolation_level=None)


@mcp.tool()
def forget(word: str) -> str:
    db.execute("BEGIN IMMEDIATE")
    rows = db.execute("SELECT text FROM visits").fetchall()
    db.execute("DELETE FROM visits")
    for row in rows:
        if word not in row[0]:
            db.execute("INSERT INTO visits (text) VALUES (?)", (row[0],))
    db.execute("COMMIT")
    return "done"


@mcp.tool()
def chain(text: str) -> str:
    last = db.execute("SELECT mark FROM chain ORDER BY id DESC LIMIT 1").fetchone()
    db.execute("DELETE FROM chain WHERE at < ?", (time.time() - 3600,))
    db.execute("INSERT INTO chain (text, mark) VALUES (?, ?)", (text, last["mark"] + text))
    return "done"


@mcp.tool()
def archive(hive: str) -> str:
    rows = db.execute("SELECT text FROM frames WHERE hive = ?", (hive,)).fetchall()
    db.execute("DELETE FROM frames WHERE hive = ?", (hive,))
    for row in rows:
        db.execute("INSERT INTO old_frames (hive, text) VALUES (?, ?)", (hive, row[0]))
    return "done"


@mcp.tool()
def replace(hive: str, texts: list[str]) -> str:
    before = db.execute("SELECT COUNT(*) FROM lids WHERE hive = ?", (hive,)).fetchone()
    db.execute("DELETE FROM lids WHERE hive = ?", (hive,))
    for text in texts:
        db.execute("INSERT INTO lids (hive, text) VALUES (?, ?)", (hive, text))
    return f"{before[0]} replaced"


@mcp.tool()
def copy(hive: str, to: str) -> str:
    row = db.execute("SELECT text FROM roofs WHERE hive = ?", (hive,)).fetchone()
    db.execute("DELETE FROM roofs WHERE owner = ?", (to,))
    db.execute("INSERT INTO roofs (owner, hive, text) VALUES (?, ?, ?)", (to, hive, row[0]))
    return "done"
