import hashlib
import sqlite3


def note(text: str) -> str | None:
    db = sqlite3.connect("notes.db")
    db.execute("CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, text TEXT NOT NULL)")
    known = [row[0].lower() for row in db.execute("SELECT text FROM notes").fetchall()]
    if text.lower() in known:
        return None
    key = hashlib.sha256(text.lower().encode()).hexdigest()
    db.execute("INSERT INTO notes (id, text) VALUES (?, ?)", (key, text))
    db.commit()
    return key
