// The helper has no transaction of its own, and everybody who calls it has begun one.
import Database from "better-sqlite3";

export const db = new Database("/srv/stock/stock.db");

export function shelve(shelf) {
  const row = db.prepare("SELECT label, slots FROM shelves WHERE id = ?").get(shelf);
  if (!row) throw new Error("no such shelf");
  const slots = row.slots.split(",").slice(1).join(",");
  db.prepare("UPDATE shelves SET slots = ? WHERE id = ?").run(slots, shelf);
  return row.label;
}

export function place(shelf) {
  return { label: shelve(shelf), at: Date.now() };
}
