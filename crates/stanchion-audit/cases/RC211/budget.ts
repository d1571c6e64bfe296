// also: RC102
import { Pool } from "pg";

const pool = new Pool();

async function one(id: string) {
  const { rows } = await pool.query("SELECT * FROM budgets WHERE id = $1 FOR UPDATE", [id]); // expect: RC211
  return rows[0];
}

export async function spend(id: string, amount: number) {
  const budget = await one(id);
  if (budget.spent + amount > budget.total) throw new Error("over budget");
  await pool.query("UPDATE budgets SET spent = $1 WHERE id = $2", [budget.spent + amount, id]);
}
