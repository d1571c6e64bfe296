import psycopg


def fail(conn: psycopg.Connection, job_id: int, error: str) -> None:
    conn.execute("UPDATE jobs SET attempts = attempts + 1, error = %s WHERE id = %s", (error, job_id))
    conn.commit()
