import sqlite3

db = sqlite3.connect("/data/index.db")


def put(path: str, uses: int) -> None:
    db.execute(  # expect: RC102 read=14
        "INSERT INTO notes (path, uses) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET uses = excluded.uses",
        (path, uses),
    )


def again() -> None:
    for row in db.execute("SELECT * FROM notes WHERE stale = 1").fetchall():
        put(row["path"], row["uses"] + 1)
    db.commit()
