// also: RC401
// The database counts, and only whether there is a row was asked.
import Database from "better-sqlite3";

const db = new Database("/data/failures.db");

export function seen(pattern: string, text: string) {
  const old = db.prepare("SELECT id FROM failures WHERE pattern = ?").get(pattern) as { id: number } | undefined;
  if (old) {
    db.prepare("UPDATE failures SET count = count + 1, text = ? WHERE id = ?").run(text, old.id);
  } else {
    db.prepare("INSERT INTO failures (pattern, text) VALUES (?, ?)").run(pattern, text);
  }
}
