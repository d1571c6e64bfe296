import { Pool } from "pg";

const pool = new Pool();

export const take = async (kind: string) => {
  const order = (await pool.query("SELECT * FROM orders WHERE state = 0 AND kind = $1 LIMIT 1", [kind])).rows[0];
  if (!order || order.held) return;
  await pool.query("UPDATE orders SET state = 1 WHERE id = $1", [order.id]); // expect: RC102 read=6
  return order;
};
