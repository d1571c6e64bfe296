import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("stock")
DB = "/var/lib/stock/stock.db"


def connect() -> sqlite3.Connection:
    conn = sqlite3.connect(DB)
    conn.row_factory = sqlite3.Row
    return conn


@mcp.tool()
def take(sku: str, amount: int) -> str:
    conn = connect()
    row = conn.execute("SELECT quantity FROM items WHERE sku = ?", (sku,)).fetchone()
    if row is None or row["quantity"] < amount:
        return "not enough"
    left = row["quantity"] - amount
    conn.execute("UPDATE items SET quantity = ? WHERE sku = ?", (left, sku))  # expect: RC102 read=18
    conn.commit()
    return f"{left} left"
