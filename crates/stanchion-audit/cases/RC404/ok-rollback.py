import psycopg
import requests


def place(conn: psycopg.Connection, ref: str, item: str) -> None:
    with conn.transaction():
        conn.execute("INSERT INTO claims (ref) VALUES (%s)", (ref,))
        conn.execute("INSERT INTO orders (ref, item) VALUES (%s, %s)", (ref, item))


def cancel(conn: psycopg.Connection, ref: str) -> None:
    try:
        requests.get(f"https://ship.example/orders/{ref}", timeout=3).raise_for_status()
    except requests.RequestException:
        conn.execute("DELETE FROM drafts WHERE ref = %s", (ref,))
        conn.commit()
