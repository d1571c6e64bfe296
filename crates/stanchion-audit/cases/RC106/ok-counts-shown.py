import sqlite3


def used(path: str) -> None:
    with sqlite3.connect("/data/notes.db") as db:
        db.execute("UPDATE notes SET uses = uses + 1, used_at = CURRENT_TIMESTAMP WHERE path = ?", (path,))


def picture(path: str) -> str:
    with sqlite3.connect("/data/notes.db") as db:
        row = db.execute("SELECT image FROM notes WHERE path = ?", (path,)).fetchone()
    if row and row[0]:
        used(path)
        return row[0]
    used(path)
    return "none"
