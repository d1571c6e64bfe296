# Each builder has a folder of its own.
import os
import sqlite3
import tempfile

PLACE = "/data/index.db"


def rebuild(words):
    with tempfile.TemporaryDirectory(dir="/data") as folder:
        scratch = os.path.join(folder, "index.db")
        db = sqlite3.connect(scratch)
        db.execute("CREATE TABLE word (text TEXT PRIMARY KEY)")
        db.executemany("INSERT INTO word (text) VALUES (?)", [(word,) for word in words])
        db.commit()
        db.close()
        os.replace(scratch, PLACE)
