import asyncpg


async def handle(pool: asyncpg.Pool, event_id: str, payload: str, work) -> bool:
    known = await pool.fetchval("SELECT 1 FROM events WHERE event_id = $1", event_id)
    if known:
        return False
    done = await pool.execute(
        "INSERT INTO events (event_id, payload) VALUES ($1, $2) ON CONFLICT DO NOTHING", event_id, payload
    )
    if done == "INSERT 0 0":
        return False
    await work(payload)
    return True
