import psycopg
import requests


class O:
    def __init__(self, conn: psycopg.Connection):
        self.conn = conn

    def l3(self, ref: str) -> None:
        self.conn.execute("DELETE FROM claims WHERE ref = %s", (ref,))  # expect: RC404 read=17
        self.conn.commit()

    def go(self, ref: str, body: dict) -> None:
        self.conn.execute("INSERT INTO claims (ref) VALUES (%s)", (ref,))
        self.conn.commit()
        try:
            requests.post("https://ship.example/orders", json=body, timeout=3).raise_for_status()
        except requests.Timeout:
            self.l3(ref)
            raise
