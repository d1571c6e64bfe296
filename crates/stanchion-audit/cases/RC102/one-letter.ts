// A value of one letter is a part of many names, and stands in none of them.
import { Pool } from "pg";

const pool = new Pool();

export async function start(id: string) {
  const job = (await pool.query("SELECT * FROM jobs WHERE id = $1", [id])).rows[0];
  if (job.status !== "new") return;
  await pool.query("UPDATE jobs SET status = 's' WHERE id = $1", [id]); // expect: RC102 read=7
}
