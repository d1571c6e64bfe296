# also: RC301, RC303
# Nothing of what the old one holds is kept, or nobody can store anything while it is copied.
import os
import sqlite3

from filelock import FileLock

PLACE = "/data/words.db"


def rebuild(words):
    scratch = PLACE + ".new"
    new = sqlite3.connect(scratch)
    new.execute("CREATE TABLE word (text TEXT PRIMARY KEY)")
    new.executemany("INSERT INTO word (text) VALUES (?)", [(word,) for word in words])
    new.commit()
    new.close()
    os.replace(scratch, PLACE)


def restore(backup):
    check = sqlite3.connect(backup)
    check.execute("SELECT text FROM word").fetchall()
    check.close()
    os.replace(backup, PLACE)


def compact():
    scratch = PLACE + ".new"
    with FileLock(PLACE + ".lock"):
        old = sqlite3.connect(PLACE)
        new = sqlite3.connect(scratch)
        for text, times in old.execute("SELECT text, times FROM word WHERE times > 1").fetchall():
            new.execute("INSERT INTO word (text, times) VALUES (?, ?)", (text, times))
        new.commit()
        old.close()
        new.close()
        os.replace(scratch, PLACE)
