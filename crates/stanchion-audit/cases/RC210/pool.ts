import { Pool } from "pg";

const pool = new Pool();

export async function exclusively(id: number, work: () => Promise<void>) {
  await pool.query("SELECT pg_advisory_lock($1)", [id]); // expect: RC210
  try {
    await work();
  } finally {
    await pool.query("SELECT pg_advisory_unlock($1)", [id]);
  }
}
