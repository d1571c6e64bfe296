import sqlite3

SCHEMA = "CREATE TABLE edges (source TEXT, target TEXT, kind TEXT, weight REAL, PRIMARY KEY (source, target, kind))"
db = sqlite3.connect("/data/graph.db")


def decay(factor):
    for row in db.execute("SELECT source, target, kind, weight FROM edges").fetchall():
        db.execute(  # expect: RC102 read=8
            "UPDATE edges SET weight = ? WHERE source = ? AND target = ? AND kind = ?",
            (row["weight"] * factor, row["source"], row["target"], row["kind"]),
        )
    db.commit()
