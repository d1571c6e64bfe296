"""A row that is marked as removed may be marked so twice."""
import datetime
import sqlite3


def forget(path: str, page: str) -> None:
    db = sqlite3.connect(path)
    for row in db.execute("SELECT id FROM lines WHERE page = ? AND removed IS NULL", (page,)).fetchall():
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        db.execute("UPDATE lines SET removed = ? WHERE id = ?", (now, row[0]))
    for row in db.execute("SELECT id, text FROM lines WHERE words IS NULL").fetchall():
        db.execute("UPDATE lines SET words = ? WHERE id = ?", (len(row[1].split()), row[0]))
    row = db.execute("SELECT id FROM pages WHERE name = ? AND removed IS NULL", (page,)).fetchone()
    if row:
        db.execute("UPDATE pages SET removed = CURRENT_TIMESTAMP WHERE id = ?", (row[0],))
    db.commit()
