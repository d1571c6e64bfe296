import Database from "better-sqlite3";

const db = new Database("x.db");

export function ofTheCaller(id: string, changes: any) {
  const row = db.prepare("SELECT id FROM items WHERE id = ?").get(id) as any;
  if (!row) throw new Error("none");
  db.prepare("UPDATE items SET name = @name, qty = @qty WHERE id = @id").run({ ...changes, id });
}

// Of the row only its key is used.
export function oneColumn(id: string, name: string) {
  const row = db.prepare("SELECT * FROM items WHERE id = ?").get(id) as any;
  db.prepare("UPDATE items SET name = @name WHERE id = @id").run({ ...row, name });
}

// A row of another table.
export function owner(name: string) {
  const user = db.prepare("SELECT * FROM users WHERE name = ?").get(name) as any;
  db.prepare("UPDATE items SET owner = @id WHERE name = @name").run(user);
}
