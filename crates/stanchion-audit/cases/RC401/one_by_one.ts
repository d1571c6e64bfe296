import Database from "better-sqlite3";

const db = new Database("x.db");

export function ensure(name: string) {
  const all = db.prepare("SELECT * FROM items").all() as any[];
  for (const row of all) {
    if (row.name.toLowerCase() === name.toLowerCase()) return row.id;
  }
  return db.prepare("INSERT INTO items (name) VALUES (?)").run(name).lastInsertRowid; // expect: RC401 read=6
}

export function add(name: string) {
  for (const row of db.prepare("SELECT * FROM items").all() as any[]) {
    if (row.name === name) {
      throw new Error("exists");
    }
  }
  db.prepare("INSERT INTO items (name) VALUES (?)").run(name); // expect: RC401 read=14
}
