import sqlite3

db = sqlite3.connect("/data/board.db")


def advance(item_id):
    item = db.execute("SELECT * FROM items WHERE id = ?", (item_id,)).fetchone()
    here = db.execute("SELECT place FROM steps WHERE state = ?", (item["state"],)).fetchone()
    after = db.execute("SELECT state FROM steps WHERE place > ? ORDER BY place LIMIT 1", (here["place"],)).fetchone()
    db.execute("UPDATE items SET state = ? WHERE id = ?", (after["state"], item_id))  # expect: RC102 read=7
    db.commit()
