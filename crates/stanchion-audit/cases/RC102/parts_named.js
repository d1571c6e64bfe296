// The columns that are read have names, and those that are set are collected.
import pg from "pg";

const pool = new pg.Pool();

export async function extend(id, patch) {
  const { rows } = await pool.query("SELECT id, labels, owner FROM plots WHERE id = $1", [id]);
  const plot = rows[0];
  const parts = [];
  const given = [];
  let n = 1;
  if (patch.owner) {
    parts.push(`owner = $${n++}`);
    given.push(patch.owner);
  }
  if (patch.labels) {
    parts.push(`labels = $${n++}`);
    given.push(JSON.stringify({ ...JSON.parse(plot.labels), ...patch.labels }));
  }
  if (parts.length === 0) return plot;
  given.push(plot.id);
  await pool.query(`UPDATE plots SET ${parts.join(", ")} WHERE id = $${n}`, given); // expect: RC102 read=7
}
