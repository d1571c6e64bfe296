import datetime
import sqlite3

db = sqlite3.connect("/data/memory.db")


def used(scope):
    rows = db.execute("SELECT id FROM memories WHERE scope = ?", (scope,)).fetchall()
    if rows:
        now = datetime.datetime.now()
        for row in rows:
            db.execute("UPDATE memories SET uses = uses + 1, used_at = ? WHERE id = ?", (now, row["id"]))
        db.commit()
    return rows
