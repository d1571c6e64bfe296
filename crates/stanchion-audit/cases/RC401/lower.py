import sqlite3
import uuid


def author(name: str) -> str:
    db = sqlite3.connect("books.db")
    db.execute("CREATE TABLE IF NOT EXISTS authors (id TEXT PRIMARY KEY, name TEXT NOT NULL)")
    row = db.execute("SELECT id FROM authors WHERE LOWER(name) = ?", (name.lower(),)).fetchone()
    if row:
        return row[0]
    key = uuid.uuid4().hex
    db.execute("INSERT INTO authors (id, name) VALUES (?, ?)", (key, name))  # expect: RC401 read=8
    db.commit()
    return key
