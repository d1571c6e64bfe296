import sqlite3


class Counters:
    def __init__(self, path: str):
        self._conn = sqlite3.connect(path, check_same_thread=False)

    def bump(self, key: str) -> int:
        cur = self._conn.cursor()
        cur.execute("SELECT n FROM counters WHERE key = ?", (key,))
        row = cur.fetchone()
        n = row[0] + 1
        cur.execute("UPDATE counters SET n = ? WHERE key = ?", (n, key))  # expect: RC102 read=10
        self._conn.commit()
        return n
