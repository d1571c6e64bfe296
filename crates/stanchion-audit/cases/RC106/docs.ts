// also: RC102
import { Pool } from "pg";

const pool = new Pool();

async function u(id: string) {
  const { rows } = await pool.query("SELECT id, body, version FROM docs WHERE id = $1", [id]);
  return rows[0];
}

export async function v(id: string, patch: (body: string) => string) {
  const doc = await u(id);
  const body = patch(doc.body);
  await pool.query("UPDATE docs SET body = $1, version = $2 WHERE id = $3", [body, doc.version + 1, id]); // expect: RC106 read=7
  return doc.version + 1;
}
