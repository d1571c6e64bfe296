import psycopg


class Conflict(Exception):
    pass


class Pages:
    def __init__(self, conn: psycopg.Connection):
        self.conn = conn

    def t(self, page_id: int):
        cur = self.conn.execute("SELECT body, version FROM pages WHERE id = %s", (page_id,))
        return cur.fetchone()

    def write(self, page_id: int, body: str, expected: int) -> None:
        row = self.t(page_id)
        if row[1] != expected:
            raise Conflict(page_id)
        self.conn.execute("UPDATE pages SET body = %s, version = version + 1 WHERE id = %s", (body, page_id))  # expect: RC106 read=13
        self.conn.commit()
