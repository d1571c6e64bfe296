// also: RC401
// How often it was tried is counted by the database; it is nobody's version.
import { Pool } from "pg";

const pool = new Pool();

export async function nextParcel(courier: string) {
  const { rows } = await pool.query("SELECT id, heavy FROM parcels WHERE place = $1 AND state = $2", ["depot", "ready"]);
  for (const parcel of rows) {
    if (parcel.heavy) continue;
    await pool.query("UPDATE parcels SET state = $1, courier = $2, trips = trips + 1 WHERE id = $3", ["out", courier, parcel.id]); // expect: RC102 read=8
    return parcel.id;
  }
  return null;
}

export async function remark(id: string, text: string) {
  const { rows } = await pool.query("SELECT * FROM parcels WHERE id = $1", [id]);
  const notes = rows[0].notes + "\n" + text;
  await pool.query("UPDATE parcels SET notes = $1, edits = edits + 1 WHERE id = $2", [notes, id]); // expect: RC102 read=18
}
