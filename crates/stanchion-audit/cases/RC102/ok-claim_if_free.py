# The database compares, and the answer says whether it has.
import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("claims")


def connect() -> sqlite3.Connection:
    db = sqlite3.connect("/data/claims.db")
    db.row_factory = sqlite3.Row
    return db


@mcp.tool()
def claim(path: str, owner: str, now: float) -> str:
    with connect() as db:
        done = db.execute(
            "INSERT INTO claims(path, owner, until) VALUES(?, ?, ?) "
            "ON CONFLICT(path) DO UPDATE SET owner = excluded.owner, until = excluded.until "
            "WHERE claims.until <= ? OR claims.owner = excluded.owner",
            (path, owner, now + 60, now),
        )
        if done.rowcount == 0:
            raise ValueError("taken")
    return "claimed"
