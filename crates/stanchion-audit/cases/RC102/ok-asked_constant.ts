// A schema that all calls use keeps nothing of what it was asked.
import { Pool } from "pg";
import { z } from "zod";

const pool = new Pool();
const Box = z.object({ code: z.string(), shelf: z.string() });

export async function label(id: string, given: unknown) {
  const { rows } = await pool.query("SELECT * FROM boxes WHERE id = $1", [id]);
  const before = Box.parse(rows[0]);
  const after = Box.parse(given);
  await pool.query("UPDATE boxes SET shelf = $1, code = $2 WHERE id = $3", [after.shelf, after.code, id]);
  return before;
}
