# also: RC301
# The scratch file stands in another folder, and what an earlier run has left of it is removed first.
import os
import sqlite3

PLACE = "/data/index.db"
SCRATCH = "/data/scratch/index.db"


def rebuild(words):
    if os.path.exists(SCRATCH):
        os.remove(SCRATCH)
    db = sqlite3.connect(SCRATCH)
    db.execute("CREATE TABLE word (text TEXT PRIMARY KEY)")
    db.executemany("INSERT INTO word (text) VALUES (?)", [(word,) for word in words])
    db.commit()
    db.close()
    os.replace(SCRATCH, PLACE)  # expect: RC303 read=13
