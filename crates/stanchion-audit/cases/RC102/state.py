import sqlite3

db = sqlite3.connect("/data/orders.db")
db.row_factory = sqlite3.Row


def pay(order_id: int) -> bool:
    row = db.execute("SELECT state FROM orders WHERE id = ?", (order_id,)).fetchone()
    if row["state"] != "open":
        return False
    db.execute("UPDATE orders SET state = 'paid' WHERE id = ?", (order_id,))  # expect: RC102 read=8
    db.commit()
    return True
