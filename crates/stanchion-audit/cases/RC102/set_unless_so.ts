// Whether it may be set at all depends on what was there: the one who sets it looks only for what he is to set.
import { Pool } from "pg";

const pool = new Pool();

async function lamp(id: string) {
  const { rows } = await pool.query("SELECT * FROM lamps WHERE id = $1", [id]);
  return rows[0];
}

async function turn(id: string, state: string) {
  const found = await lamp(id);
  if (found.state === state) return found;
  await pool.query("UPDATE lamps SET state = $1 WHERE id = $2", [state, id]); // expect: RC102 read=19
  return lamp(id);
}

export async function light(id: string) {
  const found = await lamp(id);
  if (found.state !== "broken") await turn(id, "on");
}

export async function take(id: string) {
  const found = await lamp(id);
  if (found.state === "taken") return false;
  await pool.query("UPDATE lamps SET state = $1 WHERE id = $2", ["taken", id]); // expect: RC102 read=24
  return true;
}

export async function own(id: string, owner: string) {
  const found = await lamp(id);
  if (found.owner !== null && found.owner !== owner) return false;
  await pool.query("UPDATE lamps SET owner = $1 WHERE id = $2", [owner, id]); // expect: RC102 read=31
  return true;
}
