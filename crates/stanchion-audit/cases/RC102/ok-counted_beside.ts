// The row only has to be there: what is set comes from the caller, and the database counts.
import { Pool } from "pg";

const pool = new Pool();

export async function retitle(id: string, title: string) {
  const { rows } = await pool.query("SELECT * FROM parcels WHERE id = $1", [id]);
  if (rows.length === 0) throw new Error("no such parcel");
  await pool.query("UPDATE parcels SET title = $1, edits = edits + 1 WHERE id = $2", [title, id]);
}

export async function nextParcel(courier: string) {
  const { rows } = await pool.query("SELECT id FROM parcels WHERE state = 'ready'");
  for (const { id } of rows) {
    const sql = "UPDATE parcels SET state = 'out', courier = $1, trips = trips + 1 WHERE id = $2 AND state = 'ready'";
    const { rowCount } = await pool.query(sql, [courier, id]);
    if (rowCount === 1) return id;
  }
  return null;
}
