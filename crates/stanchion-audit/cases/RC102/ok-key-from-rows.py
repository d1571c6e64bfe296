# Which row it is was looked up; all that is written of it is made of that, or was given.
import sqlite3

db = sqlite3.connect("desks.db", isolation_level=None)


def sit(room: str, person: str) -> str:
    rows = db.execute("SELECT desk, room FROM desks").fetchall()
    desk = min((row[0] for row in rows if row[1] == room), default=f"{room}/{person}")
    db.execute(
        "INSERT INTO desks (desk, room, floor) VALUES (?, ?, ?) "
        "ON CONFLICT(desk) DO UPDATE SET room = excluded.room, floor = excluded.floor",
        (desk, room, desk.split("/")[0]),
    )
    return desk
