// also: RC401
// Places without an owner are looked for, and get one: nothing is tested but what the statement says.
import { Pool } from "pg";

const pool = new Pool();

export async function reserve(hall: string, guest: string) {
  const { rows } = await pool.query("SELECT id FROM seats WHERE hall = $1 AND guest IS NULL LIMIT 1", [hall]);
  if (rows.length === 0) return null;
  await pool.query("UPDATE seats SET guest = $1 WHERE id = $2", [guest, rows[0].id]); // expect: RC102 read=8
  return rows[0].id;
}
