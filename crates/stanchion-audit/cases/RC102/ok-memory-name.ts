import Database from "better-sqlite3";

const db = new Database(":memory:");

export function count(id: string) {
  const row = db.prepare("SELECT n FROM c WHERE id = ?").get(id);
  db.exec(`UPDATE c SET n = ${row.n + 1} WHERE id = 1`);
}

export function insert(id: string) {
  const row = db.prepare("SELECT n FROM c WHERE id = ?").get(id);
  if (!row) db.exec("INSERT INTO c (id) VALUES (1)");
}
