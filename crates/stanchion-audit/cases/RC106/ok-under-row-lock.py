import psycopg


def publish(conn: psycopg.Connection, page_id: int, body: str, expected: int) -> bool:
    with conn.transaction():
        row = conn.execute("SELECT version FROM pages WHERE id = %s FOR UPDATE", (page_id,)).fetchone()
        if row[0] != expected:
            return False
        conn.execute("UPDATE pages SET body = %s, version = %s WHERE id = %s", (body, expected + 1, page_id))
    return True


def touch(conn: psycopg.Connection, page_id: int) -> None:
    conn.execute("UPDATE pages SET views = views + 1 WHERE id = %s", (page_id,))
