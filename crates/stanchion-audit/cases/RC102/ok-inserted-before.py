import sqlite3
import threading
from contextlib import contextmanager

local = threading.local()


@contextmanager
def connection(path):
    cache = getattr(local, "open", None)
    if cache is None:
        local.open = {}
        cache = local.open
    if path not in cache:
        cache[path] = sqlite3.connect(path)
    yield cache[path]
    cache[path].commit()


def rate(path, memory, score):
    with connection(path) as db:
        db.execute("INSERT INTO votes (memory, score) VALUES (?, ?)", (memory, score))
        row = db.execute("SELECT total FROM memories WHERE id = ?", (memory,)).fetchone()
        db.execute("UPDATE memories SET total = ? WHERE id = ?", (row["total"] + score, memory))
