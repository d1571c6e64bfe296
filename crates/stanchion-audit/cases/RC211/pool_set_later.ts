// also: RC102
import { Pool } from "pg";

let pool: Pool | null = null;

export function open() {
  pool = new Pool();
}

export async function take(show: string) {
  const { rows } = await pool!.query("SELECT places FROM shows WHERE id = $1 FOR UPDATE", [show]); // expect: RC211
  await pool!.query("UPDATE shows SET places = $1 WHERE id = $2", [rows[0].places - 1, show]);
}
