import { Pool } from "pg";

const pool = new Pool();
const single = new Pool({ max: 1 });

export async function exclusively(id: number, work: () => Promise<void>) {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [id]);
    try {
      await work();
    } finally {
      await client.query("SELECT pg_advisory_unlock($1)", [id]);
    }
  } finally {
    client.release();
  }
}

export async function leader(work: () => Promise<void>) {
  await single.query("SELECT pg_advisory_lock(7)");
  try {
    await work();
  } finally {
    await single.query("SELECT pg_advisory_unlock(7)");
  }
}
