import Database from "better-sqlite3";

const db = new Database("x.db");

export function merge(id: string, changes: Record<string, unknown>) {
  const row = db.prepare("SELECT * FROM items WHERE id = ?").get(id) as any;
  const merged = { ...row, ...changes };
  db.prepare("UPDATE items SET name = @name, qty = @qty WHERE id = @id").run(merged); // expect: RC102 read=6
}

export function stamped(id: string, changes: any) {
  const row = db.prepare("SELECT * FROM items WHERE id = ?").get(id) as any;
  const merged = { ...row, ...changes, changed_at: Date.now() };
  db.prepare("UPDATE items SET name = $name, changed_at = $changed_at WHERE id = $id").run(merged); // expect: RC102 read=12
}

export function raise(id: string) {
  const row = db.prepare("SELECT * FROM items WHERE id = ?").get(id) as any;
  row.qty += 1;
  db.prepare("UPDATE items SET name = @name, qty = @qty WHERE id = @id").run(row); // expect: RC102 read=18
}
