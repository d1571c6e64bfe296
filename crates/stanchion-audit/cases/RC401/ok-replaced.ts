// All rows of a file are removed and inserted anew.
import Database from "better-sqlite3";

const db = new Database("symbols.db");

export function index(file: string, names: string[]) {
  const known = db.prepare("SELECT name FROM symbols WHERE file = ?").all(file);
  if (known.length > 0) return known;
  db.prepare("DELETE FROM symbols WHERE file = ?").run(file);
  for (const name of names) db.prepare("INSERT INTO symbols (file, name) VALUES (?, ?)").run(file, name);
  return names;
}
