"""Whether it may be changed is looked up in a column that others set, and the change does not ask for it."""
import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("letters")


def connect():
    conn = sqlite3.connect("/data/letters.db")
    conn.row_factory = sqlite3.Row
    return conn


def find(conn, letter):
    row = conn.execute("SELECT * FROM letters WHERE id = ?", (letter,)).fetchone()
    return dict(row) if row else None


@mcp.tool()
def send_all() -> None:
    conn = connect()
    conn.execute("UPDATE letters SET stage = 'sent' WHERE stage = 'draft'")
    conn.commit()


@mcp.tool()
def address(letter: str, to: str) -> str:
    conn = connect()
    row = find(conn, letter)
    if not row or row["stage"] != "draft":
        return "too late"
    conn.execute("UPDATE letters SET receiver = ? WHERE id = ?", (to, letter))  # expect: RC102 read=16
    conn.commit()
    return "changed"


@mcp.tool()
def edit(letter: str, text: str | None = None, subject: str | None = None) -> str:
    conn = connect()
    row = find(conn, letter)
    if row is None:
        return "no such letter"
    if row["stage"] == "sent":
        raise ValueError("too late")
    sets, values = [], []
    if text is not None:
        sets.append("body = ?")
        values.append(text)
    if subject is not None:
        sets.append("subject = ?")
        values.append(subject)
    values.append(letter)
    conn.execute(f"UPDATE letters SET {', '.join(sets)} WHERE id = ?", values)  # expect: RC102 read=16
    conn.commit()
    return "changed"
