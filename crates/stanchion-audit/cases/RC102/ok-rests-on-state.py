"""The column is asked for by the write, nobody changes it, or there is nothing to be told."""
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
    done = conn.execute("UPDATE letters SET receiver = ? WHERE id = ? AND stage = 'draft'", (to, letter))
    conn.commit()
    return "changed" if done.rowcount else "too late"


@mcp.tool()
def answer(letter: str, text: str) -> str:
    conn = connect()
    row = find(conn, letter)
    # Nobody changes what kind of letter it is, nor who has written it.
    if not row or row["kind"] != "question" or row["author"] == "nobody":
        return "no question"
    conn.execute("UPDATE letters SET answer = ? WHERE id = ?", (text, letter))
    conn.commit()
    return "answered"


@mcp.tool()
def describe(letter: str, text: str) -> str:
    conn = connect()
    row = find(conn, letter)
    # Only whether there is one.
    if row is None:
        return "no such letter"
    conn.execute("UPDATE letters SET note = ? WHERE id = ?", (text, letter))
    conn.commit()
    return row["stage"]


@mcp.tool()
def seen(letter: str) -> str:
    conn = connect()
    row = find(conn, letter)
    # Everybody sets the same.
    if row and row["stage"] == "sent":
        conn.execute("UPDATE letters SET seen = 1, seen_at = datetime('now') WHERE id = ?", (letter,))
        conn.commit()
    return "seen"


@mcp.tool()
def file_away(letter: str, shelf: str) -> str:
    conn = connect()
    conn.execute("BEGIN IMMEDIATE")
    row = find(conn, letter)
    if row and row["stage"] == "sent":
        conn.execute("UPDATE letters SET shelf = ? WHERE id = ?", (shelf, letter))
    conn.commit()
    return "filed"
