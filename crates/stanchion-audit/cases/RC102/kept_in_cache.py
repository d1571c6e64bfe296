# What a cache of the module was given comes back from it, and the row is written from that.
import sqlite3

from lru import LRU

db = sqlite3.connect("stock.db", isolation_level=None)
recent = LRU(64)


def move(item: str, count: int) -> None:
    row = db.execute("SELECT stored FROM stock WHERE item = ?", (item,)).fetchone()
    recent.put(item, row)
    kept = recent.get(item)
    db.execute("UPDATE stock SET stored = ? WHERE item = ?", (kept[0] - count, item))  # expect: RC102 read=11
