import { Pool } from "pg";

const pool = new Pool();

export const take = async (kind: string) => {
  const order = (await pool.query("SELECT * FROM orders WHERE state = 0 AND kind = $1 LIMIT 1", [kind])).rows[0];
  if (!order || order.held) return;
  const taken = await pool.query("UPDATE orders SET state = 1 WHERE id = $1 AND state = 0", [order.id]);
  return taken.rowCount === 1 ? order : undefined;
};

export const note = async (id: string, text: string) => {
  const order = (await pool.query("SELECT * FROM orders WHERE id = $1", [id])).rows[0];
  if (!order || order.held) return;
  await pool.query("UPDATE orders SET note = $1 WHERE id = $2", [text, order.id]);
};
