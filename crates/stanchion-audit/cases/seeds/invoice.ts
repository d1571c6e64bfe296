// bugs: 3, 4; deployment: cluster; also: RC401
import { Pool } from "pg";

const pool = new Pool();

export async function bill(claim: string, customer: string, ledger: Ledger, post: Post) {
  const mine = await pool.query("INSERT INTO claims (claim, answer) VALUES ($1, '{}') ON CONFLICT (claim) DO NOTHING", [claim]);
  if (mine.rowCount === 0) throw new Error("in flight");
  try {
    const invoice = await ledger.open(customer);
    await post.deliver(customer, invoice);
    await pool.query("UPDATE claims SET answer = $1 WHERE claim = $2", [invoice, claim]);
    return invoice;
  } catch (error) {
    await pool.query("DELETE FROM claims WHERE claim = $1", [claim]); // expect: RC404 read=10
    throw error;
  }
}
