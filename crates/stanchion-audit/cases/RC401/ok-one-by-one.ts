import Database from "better-sqlite3";

const db = new Database("x.db");

// They are gone through, and nothing ends because of one.
export function note(name: string) {
  const seen: string[] = [];
  for (const row of db.prepare("SELECT * FROM items").all() as any[]) {
    if (row.name === name) seen.push(row.id);
  }
  db.prepare("INSERT INTO items (name) VALUES (?)").run(name);
  return seen;
}

// Of another table.
export function allowed(user: string, name: string) {
  for (const row of db.prepare("SELECT * FROM banned").all() as any[]) {
    if (row.user === user) throw new Error("banned");
  }
  db.prepare("INSERT INTO items (name) VALUES (?)").run(name);
}

// The row that is there stays.
export function once(name: string) {
  for (const row of db.prepare("SELECT * FROM items").all() as any[]) {
    if (row.name === name) return row.id;
  }
  db.prepare("INSERT INTO items (name) VALUES (?) ON CONFLICT DO NOTHING").run(name);
}

// The condition has nothing to do with the rows.
export function unless(name: string, dry: boolean) {
  for (const row of db.prepare("SELECT * FROM items").all() as any[]) {
    console.log(row.name);
    if (dry) return;
  }
  db.prepare("INSERT INTO items (name) VALUES (?)").run(name);
}
