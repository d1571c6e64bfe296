# The row's key is what was asked for: whoever comes second puts the same row there.
import sqlite3
import uuid


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


def enter(prefix, visit_id, who):
    db = sqlite3.connect("/data/mail.db")
    if db.execute(f"SELECT who FROM {prefix}visit WHERE visit_id = ?", (visit_id,)).fetchone():
        return
    db.execute(
        f"INSERT OR REPLACE INTO {prefix}visit (visit_id, who, badge_id) VALUES (?, ?, ?)",
        (visit_id, who, str(uuid.uuid4())),
    )
    db.commit()
