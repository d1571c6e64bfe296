import { Pool, PoolClient } from "pg";

const pool = new Pool();

async function tx<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

export async function spend(id: string, amount: number) {
  await tx(async (client) => {
    const { rows } = await client.query("SELECT spent FROM budgets WHERE id = $1 FOR UPDATE", [id]);
    await client.query("UPDATE budgets SET spent = $1 WHERE id = $2", [rows[0].spent + amount, id]);
  });
}
