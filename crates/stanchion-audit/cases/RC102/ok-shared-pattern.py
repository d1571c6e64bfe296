# What a pattern was asked in another place is not in its answer.
import re
import sqlite3

CODE = re.compile(r"(?P<land>[A-Z]{2})-(?P<number>\d+)")
db = sqlite3.connect("parcels.db", isolation_level=None)


class Reader:
    def __init__(self) -> None:
        self.lines = re.compile(r"\s*,\s*")

    def first(self, text: str) -> str:
        return self.lines.split(text)[0]


reader = Reader()


def land(code: str) -> str:
    found = CODE.match(code)
    return found["land"] if found else "??"


def register(code: str) -> list[str]:
    rows = db.execute("SELECT code, land FROM parcels").fetchall()
    known = [land(row[0]) for row in rows]
    db.execute("UPDATE parcels SET land = ? WHERE code = ?", (land(code), code))
    return known


def label(code: str, text: str) -> list[str]:
    rows = db.execute("SELECT code, label FROM parcels").fetchall()
    known = [reader.first(row[1]) for row in rows]
    db.execute("UPDATE parcels SET label = ? WHERE code = ?", (reader.first(text), code))
    return known
