# The table refuses the second one of a number.
import sqlite3

db = sqlite3.connect("/data/pages.db")
db.execute("CREATE TABLE IF NOT EXISTS pages (name TEXT, edition INTEGER, text TEXT, UNIQUE (name, edition))")


def edit(name: str, text: str) -> None:
    row = db.execute("SELECT MAX(edition) FROM pages WHERE name = ?", (name,)).fetchone()
    edition = (row[0] or 0) + 1
    db.execute("INSERT INTO pages (name, edition, text) VALUES (?, ?, ?)", (name, edition, text))
    db.commit()
