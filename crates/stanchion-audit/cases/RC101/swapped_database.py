# also: RC301, RC303
import os
import sqlite3

PLACE = "/data/words.db"


def compact():
    scratch = PLACE + ".new"
    old = sqlite3.connect(PLACE)
    new = sqlite3.connect(scratch)
    new.execute("CREATE TABLE word (text TEXT PRIMARY KEY, times INTEGER)")
    for text, times in old.execute("SELECT text, times FROM word WHERE times > 1").fetchall():
        new.execute("INSERT INTO word (text, times) VALUES (?, ?)", (text, times))
    new.commit()
    old.close()
    new.close()
    os.replace(scratch, PLACE)  # expect: RC101 read=10
