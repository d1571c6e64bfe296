// What is read of one session is written to another one.
import Database from "better-sqlite3";

const db = new Database("/data/context.db");
db.exec("CREATE TABLE context (session_id TEXT, key TEXT, value TEXT, UNIQUE (session_id, key))");

export function share(from: string, to: string) {
  const rows = db.prepare("SELECT * FROM context WHERE session_id = ?").all(from) as { key: string; value: string }[];
  for (const row of rows) {
    db.prepare(
      "INSERT INTO context (session_id, key, value) VALUES (?, ?, ?) ON CONFLICT (session_id, key) DO UPDATE SET value = excluded.value",
    ).run(to, row.key, row.value);
  }
}
