import sqlite3
from pathlib import Path

db = sqlite3.connect("/data/index.db")


def index(path: Path) -> None:
    db.execute(
        "INSERT INTO notes (path, body) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET body = excluded.body",
        (str(path), path.read_text()),
    )


def again() -> None:
    for row in db.execute("SELECT * FROM notes WHERE stale = 1").fetchall():
        index(Path("/data/notes") / row["path"])
    db.commit()
