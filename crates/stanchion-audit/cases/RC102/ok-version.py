import asyncpg


async def rename(pool: asyncpg.Pool, doc_id: int, change) -> bool:
    for _ in range(5):
        row = await pool.fetchrow("SELECT body, version FROM docs WHERE id = $1", doc_id)
        body = change(row["body"])
        done = await pool.execute(
            "UPDATE docs SET body = $1, version = version + 1 WHERE id = $2 AND version = $3",
            body,
            doc_id,
            row["version"],
        )
        if done == "UPDATE 1":
            return True
    return False
