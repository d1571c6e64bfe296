import sqlite3

db = sqlite3.connect("x.db")


def ensure(name):
    for row in db.execute("SELECT id, name FROM items").fetchall():
        if row[1].lower() == name.lower():
            return row[0]
    return db.execute("INSERT INTO items (name) VALUES (?)", (name,)).lastrowid  # expect: RC401 read=7
