// What has to be there already is no reason for a second one.
import Database from "better-sqlite3";
import { randomUUID } from "node:crypto";

const db = new Database("sessions.db");

export function branch(source: string, name: string) {
  const parent = db.prepare("SELECT * FROM sessions WHERE id = ?").get(source);
  if (!parent) throw new Error("no such session");
  const id = randomUUID();
  db.prepare("INSERT INTO sessions (id, name, parent) VALUES (?, ?, ?)").run(id, name, source);
  return id;
}
