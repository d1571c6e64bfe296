# also: RC102
import sqlite3

conn = sqlite3.connect("/data/app.db")


def remember(key, value):
    cur = conn.cursor()
    cur.execute("SELECT id FROM facts WHERE key = ?", (key,))
    row = cur.fetchone()
    if row is None:
        cur.execute("INSERT INTO facts (key, value) VALUES (?, ?)", (key, value))  # expect: RC401 read=9
    else:
        cur.execute("UPDATE facts SET value = ? WHERE id = ?", (value, row[0]))
    conn.commit()
