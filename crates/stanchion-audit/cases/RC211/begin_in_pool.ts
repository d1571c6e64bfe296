// deployment: cluster; also: RC102
import { Pool } from "pg";

const pool = new Pool();
const query = (text: string, values?: unknown[]) => pool.query(text, values); // expect: RC211

export async function add(id: string) {
  await query("BEGIN");
  try {
    const { rows } = await query("SELECT n FROM t WHERE id = $1 FOR UPDATE", [id]);
    await query("UPDATE t SET n = $1 WHERE id = $2", [rows[0].n + 1, id]);
    await query("COMMIT");
  } catch (error) {
    await query("ROLLBACK");
    throw error;
  }
}
