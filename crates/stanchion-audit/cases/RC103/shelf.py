import shelve

from sqlitedict import SqliteDict


def add(key, item):
    with shelve.open("/data/s") as s:
        items = s.get(key, [])
        items.append(item)
        s[key] = items  # expect: RC103 read=8


def count(key):
    with shelve.open("/data/s") as s:
        s[key] += 1  # expect: RC103 read=15


db = SqliteDict("/data/x.sqlite", autocommit=True)


def raise_by_one(key):
    row = db[key]
    row["n"] = row["n"] + 1
    db[key] = row  # expect: RC103 read=22
