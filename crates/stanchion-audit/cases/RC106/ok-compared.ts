import { Pool } from "pg";

const pool = new Pool();

export async function save(id: string, body: string, version: number): Promise<boolean> {
  const { rows } = await pool.query("SELECT version FROM docs WHERE id = $1", [id]);
  if (rows[0].version !== version) return false;
  const done = await pool.query("UPDATE docs SET body = $1, version = version + 1 WHERE id = $2 AND version = $3", [body, id, version]);
  return done.rowCount === 1;
}
