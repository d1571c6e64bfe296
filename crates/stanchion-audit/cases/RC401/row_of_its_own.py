# Whoever finds none writes one under a key that nobody else has: the old key takes nobody's place.
import sqlite3
import uuid


def keep(prefix, sender_id, sent, text):
    db = sqlite3.connect("/data/mail.db")
    rows = db.execute(f"SELECT * FROM {prefix}mail WHERE sender_id = ?", (sender_id,)).fetchall()
    if any(row[2] == sent for row in rows):
        return False
    db.execute(  # expect: RC401 read=8
        f"INSERT OR REPLACE INTO {prefix}mail (id, sender_id, sent, text) VALUES (?, ?, ?, ?)",
        (str(uuid.uuid4()), sender_id, sent, text),
    )
    db.commit()
    return True
