# also: RC102
import sqlite3


def edit(db: sqlite3.Connection, sheet_id: int, cells: str, seen: int) -> int:
    row = db.execute("SELECT cells, rev FROM sheets WHERE id = ?", (sheet_id,)).fetchone()
    if row[1] > seen:
        raise ValueError("somebody was faster")
    rev = row[1] + 1
    db.execute("UPDATE sheets SET cells = ?, rev = ? WHERE id = ?", (cells, rev, sheet_id))  # expect: RC106 read=6
    db.commit()
    return rev
