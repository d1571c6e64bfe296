// What is set does not depend on what was there: whoever finds it so already has nothing to do.
import { Pool } from "pg";

const pool = new Pool();

async function lamp(id: string) {
  const { rows } = await pool.query("SELECT * FROM lamps WHERE id = $1", [id]);
  return rows[0];
}

export async function colour(id: string, tone: string) {
  const found = await lamp(id);
  if (!found) throw new Error("no such lamp");
  if (found.tone === tone) return found;
  await pool.query("UPDATE lamps SET tone = $1, changed = $2 WHERE id = $3", [tone, new Date(), id]);
  return lamp(id);
}

export async function place(id: string, args: { room: string }) {
  const found = await lamp(id);
  if (args.room && args.room !== found.room) {
    await pool.query("UPDATE lamps SET room = $1 WHERE id = $2", [args.room, id]);
  }
}
