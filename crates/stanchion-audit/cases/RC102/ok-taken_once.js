// The column is compared, or the rows are locked; and a row that is looked for by one column may get another.
import Database from "better-sqlite3";
import pg from "pg";

const db = new Database("mail.db");
const pool = new pg.Pool();

export async function deliver(send) {
  const letter = db.prepare("SELECT id, address FROM letters WHERE state = 'new' ORDER BY id LIMIT 1").get();
  if (!letter) return false;
  const taken = db.prepare("UPDATE letters SET state = 'taken' WHERE id = ? AND state = 'new'").run(letter.id);
  if (taken.changes === 1) await send(letter.address);
  return true;
}

export async function remind(send) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT id, address FROM invoices WHERE reminded = false FOR UPDATE");
    for (const invoice of rows) {
      await send(invoice.address);
      await client.query("UPDATE invoices SET reminded = true WHERE id = $1", [invoice.id]);
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}

export async function rename(email, name) {
  const { rows } = await pool.query("SELECT id FROM people WHERE email = $1", [email]);
  if (rows.length === 0) return;
  await pool.query("UPDATE people SET name = $1 WHERE id = $2", [name, rows[0].id]);
}

export async function move(id, email) {
  const { rows } = await pool.query("SELECT id FROM people WHERE email = $1", [email]);
  if (rows.length > 0) throw new Error("taken");
  await pool.query("UPDATE people SET email = $1 WHERE id = $2", [email, id]);
}
