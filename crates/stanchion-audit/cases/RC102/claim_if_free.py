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
        row = db.execute("SELECT owner, until FROM claims WHERE path = ?", (path,)).fetchone()
        if row is not None:
            if row["until"] > now and row["owner"] != owner:
                raise ValueError("taken")
        db.execute(  # expect: RC102 read=17
            "INSERT INTO claims(path, owner, until) VALUES(?, ?, ?) "
            "ON CONFLICT(path) DO UPDATE SET owner = excluded.owner, until = excluded.until",
            (path, owner, now + 60),
        )
    return "claimed"
