# Columns may be called like clauses.
import sqlite3

db = sqlite3.connect("/data/flags.db")
db.execute("CREATE TABLE IF NOT EXISTS flags (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value TEXT)")
db.execute("CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, index VARCHAR(40) UNIQUE, body TEXT)")


def flag(key: str) -> None:
    if db.execute("SELECT id FROM flags WHERE key = ?", (key,)).fetchone() is None:
        db.execute("INSERT INTO flags (key) VALUES (?)", (key,))
        db.commit()


def page(index: str) -> None:
    if db.execute("SELECT id FROM pages WHERE index = ?", (index,)).fetchone() is None:
        db.execute("INSERT INTO pages (index) VALUES (?)", (index,))
        db.commit()
