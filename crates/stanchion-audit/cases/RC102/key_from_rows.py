# Which row it is was looked up, and so was what is written of it.
import sqlite3

db = sqlite3.connect("desks.db", isolation_level=None)


def lend(room: str) -> None:
    rows = db.execute("SELECT desk, lent FROM desks").fetchall()
    for row in rows:
        db.execute(  # expect: RC102 read=8
            "INSERT INTO desks (desk, lent) VALUES (?, ?) "
            "ON CONFLICT(desk) DO UPDATE SET lent = excluded.lent",
            (row[0], row[1] + 1),
        )
