// bugs: 29; deployment: cluster
import { Pool } from "pg";

const pool = new Pool();

export async function attempt(id: number): Promise<boolean> {
  const connection = await pool.connect();
  try {
    const { rows } = await connection.query("SELECT pg_try_advisory_lock($1) AS got", [id]); // expect: RC210
    return rows[0].got;
  } finally {
    connection.release();
  }
}
