# also: RC205, RC104
import threading

import psycopg

guard = threading.Lock()


def z1(conn: psycopg.Connection, user_id: int, amount: int) -> None:
    got = guard.acquire(timeout=2)
    conn.execute("INSERT INTO bookings (user_id, amount) VALUES (%s, %s)", (user_id, amount))  # expect: RC209 read=10
    conn.commit()
    if got:
        guard.release()
