// A row that is marked as removed may be marked so twice, and one that the caller names is not looked for.
import { Pool } from "pg";

const pool = new Pool();

export async function remove(name: string) {
  const { rows } = await pool.query("SELECT id FROM seats WHERE name = $1 AND removed_at IS NULL", [name]);
  if (rows.length === 0) throw new Error("no such seat");
  await pool.query("UPDATE seats SET removed_at = $1 WHERE id = $2", [new Date().toISOString(), rows[0].id]);
}

export async function note(id: string, text: string) {
  const { rows } = await pool.query("SELECT id FROM seats WHERE id = $1 AND removed_at IS NULL", [id]);
  if (rows.length === 0) throw new Error("no such seat");
  await pool.query("UPDATE seats SET note = $1 WHERE id = $2", [text, id]);
}

export async function reserve(hall: string, guest: string) {
  const { rows } = await pool.query("SELECT id FROM seats WHERE hall = $1 AND guest IS NULL", [hall]);
  for (const { id } of rows) {
    const { rowCount } = await pool.query("UPDATE seats SET guest = $1 WHERE id = $2 AND guest IS NULL", [guest, id]);
    if (rowCount === 1) return id;
  }
  return null;
}
