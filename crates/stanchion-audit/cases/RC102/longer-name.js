// The key's name is the beginning of another field's: that field is kept from the row all the same.
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync("/data/tasks.db");

export async function idle(id) {
  const row = db.prepare("SELECT id, idle FROM tasks WHERE id = ?").get(id);
  db.prepare("INSERT INTO tasks (id, idle) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET idle = excluded.idle") // expect: RC102 read=7
    .run(row.id, row.idle + 1);
}
