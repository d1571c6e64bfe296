import datetime
import sqlite3

db = sqlite3.connect("/data/memory.db")


def search(word):
    rows = [dict(row) for row in db.execute("SELECT * FROM memories WHERE text LIKE ?", (word,)).fetchall()]
    db.executemany(
        "UPDATE memories SET seen_at = ? WHERE id = ?",
        [(datetime.datetime.now(), row["id"]) for row in rows],
    )
    db.commit()
    return rows


def read(agent):
    wanted = ["agent = ?", "(expires_at IS NULL OR expires_at > ?)"]
    where = " AND ".join(wanted)
    found = db.execute(f"SELECT * FROM messages WHERE {where} ORDER BY created_at DESC LIMIT 50", (agent, 0)).fetchall()
    rows = [dict(row) for row in found]
    ids = [row["id"] for row in rows if row["state"] == "new"]
    db.execute(
        f"UPDATE messages SET state = 'read', read_at = ? WHERE id IN ({','.join('?' * len(ids))})",
        [datetime.datetime.now()] + ids,
    )
    db.commit()
    return rows
