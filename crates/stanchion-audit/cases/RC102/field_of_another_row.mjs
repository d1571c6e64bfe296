// What the parent says besides can change.
import Database from "better-sqlite3";

const db = new Database("/srv/stock/stock.db");

export function hang(job, above) {
  const parent = db.prepare("SELECT * FROM jobs WHERE code = ?").get(above);
  if (!parent) throw new Error("no parent");
  db.prepare("UPDATE jobs SET state = ?, drawer = ? WHERE id = ?").run(parent.state, `drawer-${parent.id}`, job); // expect: RC102 read=7
}
