# The row that is read stays as it is; what is written has a name that was just made.
import sqlite3
import uuid

db = sqlite3.connect("/data/notes.db")


def merge(ids: list[str]) -> str:
    texts = {}
    for one in ids:
        texts[one] = db.execute("SELECT text FROM notes WHERE id = ?", (one,)).fetchone()[0]
    longest = max(texts, key=lambda one: len(texts[one]))
    row = db.execute("SELECT place FROM places WHERE id = ?", (longest,)).fetchone()
    new = str(uuid.uuid4())
    db.execute("INSERT OR REPLACE INTO places (id, place) VALUES (?, ?)", (new, row[0]))
    db.commit()
    return new
