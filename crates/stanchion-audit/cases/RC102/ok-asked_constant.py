"""A pattern that all calls use keeps nothing of what it was asked."""
import re

import psycopg

SHELF = re.compile(r"(?P<shelf>[A-Z]+)-(?P<place>\d+)")


def shelf(code: str) -> str:
    found = SHELF.fullmatch(code)
    return found["shelf"] if found else code


def label(conn: psycopg.Connection, box: int, code: str) -> list[str]:
    others = [shelf(row[0]) for row in conn.execute("SELECT code FROM boxes").fetchall()]
    conn.execute("UPDATE boxes SET shelf = %s, code = %s WHERE id = %s", (shelf(code), code, box))
    conn.commit()
    return others
