import { Pool } from "pg";

const pool = new Pool();

export async function transfer(from: string, to: string, amount: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT balance FROM accounts WHERE id = $1 FOR UPDATE", [from]);
    if (rows[0].balance < amount) throw new Error("insufficient");
    await client.query("UPDATE accounts SET balance = $1 WHERE id = $2", [rows[0].balance - amount, from]);
    await client.query("UPDATE accounts SET balance = balance + $1 WHERE id = $2", [amount, to]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}
