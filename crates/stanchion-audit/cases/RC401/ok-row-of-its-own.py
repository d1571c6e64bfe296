# The row's key is what was asked for: whoever comes second puts the same row there.
import sqlite3


def keep(prefix, mail_id, sender_id, text):
    db = sqlite3.connect("/data/mail.db")
    rows = db.execute(f"SELECT * FROM {prefix}mail WHERE id = ?", (mail_id,)).fetchall()
    if rows:
        return False
    db.execute(
        f"INSERT OR REPLACE INTO {prefix}mail (id, sender_id, text) VALUES (?, ?, ?)",
        (mail_id, sender_id, text),
    )
    db.commit()
    return True
