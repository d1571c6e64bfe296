import sqlite3


class Rows:
    def __init__(self, inner):
        self.inner = inner

    def run(self, *args):
        self.inner.execute(*args)
        return self.inner.fetchone()


def rows():
    return Rows(sqlite3.connect("/data/shop.db").cursor())


def sell(item, n):
    row = rows().run("SELECT stock FROM items WHERE id = ?", (item,))
    rows().run("UPDATE items SET stock = ? WHERE id = ?", (row["stock"] - n, item))  # expect: RC102 read=9


def rate(item, stars):
    row = rows().run("SELECT stars FROM items WHERE id = ?", (item,))
    rows().run("UPDATE items SET stars = ? WHERE id = ?", (row["stars"] + stars, item))  # expect: RC102 read=9
