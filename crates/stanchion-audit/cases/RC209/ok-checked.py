import threading

import psycopg

guard = threading.Lock()


def book(conn: psycopg.Connection, user_id: int, amount: int) -> bool:
    if not guard.acquire(timeout=2):
        return False
    try:
        conn.execute("INSERT INTO bookings (user_id, amount) VALUES (%s, %s)", (user_id, amount))
        conn.commit()
    finally:
        guard.release()
    return True


def peek(conn: psycopg.Connection) -> int:
    got = guard.acquire(timeout=1)
    try:
        return conn.execute("SELECT count(*) FROM bookings").fetchone()[0]
    finally:
        if got:
            guard.release()
