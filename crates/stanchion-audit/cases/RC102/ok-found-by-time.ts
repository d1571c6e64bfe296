import { Pool } from "pg";

const pool = new Pool();

export async function join(id: string) {
  await pool.query("INSERT INTO guests (id, seen_at, due_at) VALUES ($1, now(), now())", [id]);
}

export async function seen(id: string) {
  await pool.query("UPDATE guests SET seen_at = now() WHERE id = $1", [id]);
}

// Nobody puts it off.
export async function sweep(before: Date) {
  const { rows } = await pool.query("SELECT id FROM guests WHERE due_at <= $1", [before]);
  for (const row of rows) {
    await pool.query("DELETE FROM guests WHERE id = $1", [row.id]);
  }
}

// The statement looks again.
export async function sweepAgain(before: Date) {
  const { rows } = await pool.query("SELECT id FROM guests WHERE seen_at <= $1", [before]);
  for (const row of rows) {
    await pool.query("DELETE FROM guests WHERE id = $1 AND seen_at <= $2", [row.id, before]);
  }
}

// And here the rows are held.
export async function sweepHeld(before: Date) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT id FROM guests WHERE seen_at <= $1 FOR UPDATE", [before]);
    for (const row of rows) {
      await client.query("DELETE FROM guests WHERE id = $1", [row.id]);
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
