import asyncpg


async def tag_id(pool: asyncpg.Pool, name: str) -> int:
    row = await pool.fetchrow("SELECT id FROM tags WHERE name = $1", name)
    if row:
        return row["id"]
    return await pool.fetchval("INSERT INTO tags (name) VALUES ($1) RETURNING id", name)  # expect: RC401 read=5
