"""Nobody moves the time on, it is asked for again, or it is set only once."""
import sqlite3
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("workers")


def connect():
    return sqlite3.connect("/data/workers.db")


@mcp.tool()
def enter(worker: str) -> None:
    with connect() as conn:
        conn.execute("INSERT INTO workers (id, made_at, alive_at) VALUES (?, ?, ?)", (worker, time.time(), time.time()))


@mcp.tool()
def alive(worker: str) -> None:
    with connect() as conn:
        conn.execute("UPDATE workers SET alive_at = ? WHERE id = ?", (time.time(), worker))


@mcp.tool()
def ends(worker: str) -> None:
    with connect() as conn:
        conn.execute("UPDATE workers SET ended_at = ? WHERE id = ?", (time.time(), worker))


@mcp.tool()
def sweep() -> int:
    before = time.time() - 60
    with connect() as conn:
        gone = conn.execute("SELECT id FROM workers WHERE alive_at < ?", (before,)).fetchall()
        for row in gone:
            conn.execute("DELETE FROM workers WHERE id = ? AND alive_at < ?", (row[0], before))
    return len(gone)


@mcp.tool()
def sweep_old() -> None:
    with connect() as conn:
        for row in conn.execute("SELECT id FROM workers WHERE made_at < ?", (time.time() - 60,)).fetchall():
            conn.execute("DELETE FROM workers WHERE id = ?", (row[0],))


@mcp.tool()
def sweep_ended() -> None:
    with connect() as conn:
        for row in conn.execute("SELECT id FROM workers WHERE ended_at < ?", (time.time() - 60,)).fetchall():
            conn.execute("DELETE FROM workers WHERE id = ?", (row[0],))


@mcp.tool()
def sweep_in_order() -> None:
    conn = connect()
    conn.execute("BEGIN IMMEDIATE")
    for row in conn.execute("SELECT id FROM workers WHERE alive_at < ?", (time.time() - 60,)).fetchall():
        conn.execute("DELETE FROM workers WHERE id = ?", (row[0],))
    conn.commit()


@mcp.tool()
def leave(worker: str) -> int:
    with connect() as conn:
        others = conn.execute("SELECT id FROM workers WHERE alive_at > ?", (time.time() - 60,)).fetchall()
        conn.execute("DELETE FROM workers WHERE id = ?", (worker,))
    return len(others)


@mcp.tool()
def looked() -> list:
    conn = connect()
    silent = conn.execute("SELECT id FROM workers WHERE alive_at < ?", (time.time() - 60,)).fetchall()
    # Only when that was is noted, and who is still there may be anybody.
    for row in silent:
        conn.execute("UPDATE workers SET looked_at = ? WHERE id = ?", (time.time(), row[0]))
        conn.execute("UPDATE workers SET told_at = datetime('now') WHERE id = ?", (row[0],))
    for row in conn.execute("SELECT id FROM workers WHERE alive_at > ?", (time.time() - 60,)).fetchall():
        conn.execute("UPDATE workers SET busy = 1 WHERE id = ?", (row[0],))
    conn.commit()
    return silent
