"""What a pattern finds in a row derives from the row."""
import re

import psycopg

SHELF = re.compile(r"(?P<shelf>[A-Z]+)-(?P<place>\d+)")


def move(conn: psycopg.Connection, box: int, by: int) -> None:
    row = conn.execute("SELECT id, code FROM boxes WHERE id = %s", (box,)).fetchone()
    found = SHELF.fullmatch(row[1])
    code = f"{found['shelf']}-{int(found['place']) + by}"
    conn.execute("UPDATE boxes SET code = %s WHERE id = %s", (code, box))  # expect: RC102 read=10
    conn.commit()
