"""Older lines are replaced by a new one: of two that come together, each replaces the same ones, and both stay."""
import sqlite3
import uuid


def put(path: str, page: str, text: str) -> None:
    db = sqlite3.connect(path)
    new = str(uuid.uuid4())
    old = db.execute("SELECT id FROM lines WHERE page = ? AND next IS NULL", (page,)).fetchall()
    db.execute("INSERT INTO lines (id, page, text) VALUES (?, ?, ?)", (new, page, text))
    for row in old:
        db.execute("UPDATE lines SET next = ? WHERE id = ?", (new, row[0]))  # expect: RC102 read=9
    db.commit()
