import sqlite3


def rename(path: str, title: str) -> None:
    with sqlite3.connect("/data/notes.db") as db:
        row = db.execute("SELECT title, version FROM notes WHERE path = ?", (path,)).fetchone()
        if row[1] > 3:
            return
        db.execute("UPDATE notes SET version = version + 1, title = ? WHERE path = ?", (title, path))  # expect: RC106 read=6
