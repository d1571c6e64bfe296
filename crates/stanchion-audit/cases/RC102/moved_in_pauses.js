// A transaction alone keeps nobody from finding the same rows.
import pg from "pg";

const pool = new pg.Pool();

export async function pack(wrap) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT id, gift FROM orders WHERE state = 'paid' LIMIT 1");
    if (rows.length > 0) {
      await client.query("UPDATE orders SET state = 'packed' WHERE id = $1", [rows[0].id]); // expect: RC102 read=10
      await wrap(rows[0].gift);
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
