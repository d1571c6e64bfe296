// Which row the parent is never changes, and neither does a name that is made of that.
import Database from "better-sqlite3";

const db = new Database("/srv/stock/stock.db");

export function hang(job, above) {
  const parent = db.prepare("SELECT * FROM jobs WHERE code = ?").get(above);
  if (!parent) throw new Error("no parent");
  db.prepare("UPDATE jobs SET parent = ?, drawer = ? WHERE id = ?").run(parent.id, `drawer-${parent.id}`, job);
}
