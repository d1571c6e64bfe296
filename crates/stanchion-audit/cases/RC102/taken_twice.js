// Whoever has found the same row, or the same rows, takes them, too.
import Database from "better-sqlite3";
import pg from "pg";

const db = new Database("mail.db");
const pool = new pg.Pool();

export async function deliver(send) {
  const letter = db.prepare("SELECT id, address FROM letters WHERE state = 'new' ORDER BY id LIMIT 1").get();
  if (!letter) return false;
  db.prepare("UPDATE letters SET state = 'taken' WHERE id = ?").run(letter.id); // expect: RC102 read=9
  await send(letter.address);
  return true;
}

export async function remind(send) {
  const { rows } = await pool.query("SELECT id, address FROM invoices WHERE reminded = false AND due < now()");
  for (const invoice of rows) {
    await send(invoice.address);
    await pool.query("UPDATE invoices SET reminded = true WHERE id = $1", [invoice.id]); // expect: RC102 read=17
  }
}
