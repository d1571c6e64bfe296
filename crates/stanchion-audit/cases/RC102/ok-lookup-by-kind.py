import sqlite3

db = sqlite3.connect("/data/board.db")


def close(item_id):
    item = db.execute("SELECT * FROM items WHERE id = ?", (item_id,)).fetchone()
    last = db.execute("SELECT state FROM steps WHERE kind_id = ? ORDER BY place DESC", (item["kind_id"],)).fetchone()
    db.execute("UPDATE items SET state = ? WHERE id = ?", (last["state"], item_id))
    db.commit()
