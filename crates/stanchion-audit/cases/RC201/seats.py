# deployment: cluster
import threading

import psycopg

LOCK = threading.Lock()


class Seats:
    def __init__(self, conn: psycopg.Connection):
        self.conn = conn

    def book(self, show_id: int) -> int:
        with LOCK:
            row = self.conn.execute("SELECT free FROM shows WHERE id = %s", (show_id,)).fetchone()
            free = row[0] - 1
            self.conn.execute("UPDATE shows SET free = %s WHERE id = %s", (free, show_id))  # expect: RC201 read=15
            self.conn.commit()
            return free
