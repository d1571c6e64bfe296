// bugs: 11; deployment: cluster; also: RC102
import { Pool } from "pg";

const pool = new Pool();

export async function spend(wallet: string, sum: number) {
  const row = await pool.query("SELECT coins FROM wallets WHERE id = $1 FOR UPDATE", [wallet]); // expect: RC211
  if (row.rows[0].coins < sum) throw new Error("too little");
  await pool.query("UPDATE wallets SET coins = coins - $1 WHERE id = $2", [sum, wallet]);
}
