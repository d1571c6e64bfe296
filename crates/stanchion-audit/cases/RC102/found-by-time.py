"""Who is silent is looked for, and then removed by number, whether it has said something since then or not."""
import sqlite3
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("workers")


def connect():
    return sqlite3.connect("/data/workers.db")


@mcp.tool()
def enter(worker: str) -> None:
    with connect() as conn:
        conn.execute("INSERT INTO workers (id, alive_at) VALUES (?, ?)", (worker, time.time()))


@mcp.tool()
def alive(worker: str) -> None:
    with connect() as conn:
        conn.execute("UPDATE workers SET alive_at = ? WHERE id = ?", (time.time(), worker))


@mcp.tool()
def sweep() -> int:
    with connect() as conn:
        gone = conn.execute("SELECT id FROM workers WHERE alive_at < ?", (time.time() - 60,)).fetchall()
        ids = [row[0] for row in gone]
        marks = ",".join("?" * len(ids))
        conn.execute(f"DELETE FROM workers WHERE id IN ({marks})", ids)  # expect: RC102 read=29
    return len(ids)


@mcp.tool()
def retire() -> None:
    conn = connect()
    for row in conn.execute("SELECT id FROM workers WHERE alive_at < ?", (time.time() - 60,)).fetchall():
        conn.execute("UPDATE workers SET retired = 1 WHERE id = ?", (row[0],))  # expect: RC102 read=39
    conn.commit()
