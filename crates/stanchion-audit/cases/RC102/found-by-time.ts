import { Pool } from "pg";

const pool = new Pool();

export async function join(id: string) {
  await pool.query("INSERT INTO guests (id, seen_at) VALUES ($1, now())", [id]);
}

export async function seen(id: string) {
  await pool.query("UPDATE guests SET seen_at = now() WHERE id = $1", [id]);
}

export async function sweep(before: Date) {
  const { rows } = await pool.query("SELECT id FROM guests WHERE seen_at <= $1", [before]);
  const ids = rows.map((row) => row.id);
  await pool.query("DELETE FROM guests WHERE id = ANY($1)", [ids]); // expect: RC102 read=14
}

export async function sweepEach(before: Date) {
  const { rows } = await pool.query("SELECT id FROM guests WHERE seen_at <= $1", [before]);
  for (const row of rows) {
    await pool.query("DELETE FROM guests WHERE id = $1", [row.id]); // expect: RC102 read=20
  }
}
