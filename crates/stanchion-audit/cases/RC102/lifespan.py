# also: RC401
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mcp.server.fastmcp import Context, FastMCP

class Database:
    def __init__(self, path: str):
        self.conn = sqlite3.connect(path)
        self.conn.row_factory = sqlite3.Row
    def one(self, sql: str, *params):
        return self.conn.execute(sql, params).fetchone()
    def run(self, sql: str, *params):
        cur = self.conn.execute(sql, params)
        self.conn.commit()
        return cur.rowcount

@dataclass
class AppContext:
    db: Database

@asynccontextmanager
async def lifespan(server: FastMCP) -> AsyncIterator[AppContext]:
    db = Database("app.db")
    try:
        yield AppContext(db=db)
    finally:
        db.conn.close()

mcp = FastMCP("app", lifespan=lifespan)

@mcp.tool()
def vote(ctx: Context, poll: str) -> int:
    db = ctx.request_context.lifespan_context.db
    row = db.one("SELECT votes FROM polls WHERE name = ?", poll)
    votes = row["votes"] + 1
    db.run("UPDATE polls SET votes = ? WHERE name = ?", votes, poll)  # expect: RC102 read=36
    return votes

@mcp.tool()
def open_poll(ctx: Context, poll: str) -> str:
    db = ctx.request_context.lifespan_context.db
    if db.one("SELECT 1 FROM polls WHERE name = ?", poll):
        return "exists"
    db.run("INSERT INTO polls (name, votes) VALUES (?, 0)", poll)
    return "opened"
