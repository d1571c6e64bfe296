// also: RC205, RC209
import { Pool } from "pg";

const pool = new Pool({ max: 10 });

async function w1(id: number): Promise<boolean> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query("SELECT pg_try_advisory_lock($1) AS ok", [id]); // expect: RC210
    return rows[0].ok;
  } finally {
    client.release();
  }
}

export async function nightly(run: () => Promise<void>) {
  if (!(await w1(42))) return;
  await run();
  await pool.query("SELECT pg_advisory_unlock($1)", [42]);
}
