# also: RC401
# Rows are read, all of them removed, and those that are wanted put back: what has come in between is gone.
import json
import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
db = sqlite3.connect("/srv/hives.db")
db.execute("CREATE TABLE IF NOT EXISTS frames (hive TEXT, place INTEGER, text TEXT, PRIMARY KEY (hive, place))")
db.execute("CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY, text TEXT)")


class Frames:
    def all(self, hive):
        rows = db.execute("SELECT text FROM frames WHERE hive = ? ORDER BY place", (hive,)).fetchall()
        return [json.loads(row[0]) for row in rows]

    def clear(self, hive):
        db.execute("DELETE FROM frames WHERE hive = ?", (hive,))
        db.commit()

    def put(self, hive, place, frame):
        text = json.dumps(frame)
        db.execute("INSERT INTO frames (hive, place, text) VALUES (?, ?, ?)", (hive, place, text))
        db.commit()


frames = Frames()


@mcp.tool()
def drop(hive: str, name: str) -> str:
    kept = [frame for frame in frames.all(hive) if frame["name"] != name]
    frames.clear(hive)
    for place, frame in enumerate(kept):
        frames.put(hive, place, frame)  # expect: RC102 read=34
    return "done"


@mcp.tool()
def forget(word: str) -> str:
    rows = db.execute("SELECT text FROM visits").fetchall()
    with db:
        db.execute("DELETE FROM visits")
        for row in rows:
            if word not in row[0]:
                db.execute("INSERT INTO visits (text) VALUES (?)", (row[0],))  # expect: RC102 read=43
    return "done"
