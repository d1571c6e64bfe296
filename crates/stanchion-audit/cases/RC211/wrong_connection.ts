// also: RC102
import { Pool } from "pg";

const pool = new Pool();

export async function spend(id: string, amount: number) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await pool.query("SELECT spent FROM budgets WHERE id = $1 FOR UPDATE", [id]); // expect: RC211
    await client.query("UPDATE budgets SET spent = $1 WHERE id = $2", [rows[0].spent + amount, id]);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
