// The rows that were found by the number get another one.
import Database from "better-sqlite3";

const db = new Database("/srv/stock/stock.db");

export function renumber(from, to) {
  const rows = db.prepare("SELECT id FROM jobs WHERE number = ?").all(from);
  for (const row of rows) {
    db.prepare("UPDATE jobs SET number = ? WHERE id = ?").run(to, row.id); // expect: RC102 read=7
  }
}
