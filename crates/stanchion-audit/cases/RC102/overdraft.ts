import { Pool } from "pg";

const pool = new Pool();

export async function withdraw(id: string, amount: number) {
  const { rows } = await pool.query("SELECT balance FROM accounts WHERE id = $1", [id]);
  if (rows[0].balance < amount) throw new Error("insufficient");
  await pool.query("UPDATE accounts SET balance = balance - $1 WHERE id = $2", [amount, id]); // expect: RC102 read=6
}
