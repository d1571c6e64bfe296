import sqlite3

db = sqlite3.connect("/data/notes.db")


def shift(note_id: str, by: int) -> None:
    row = db.execute("SELECT place FROM places WHERE id = ?", (note_id,)).fetchone()
    db.execute("INSERT OR REPLACE INTO places (id, place) VALUES (?, ?)", (note_id, row[0] + by))  # expect: RC102 read=7
    db.commit()
