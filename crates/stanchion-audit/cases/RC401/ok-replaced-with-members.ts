// What is removed with it belongs to nobody, or comes back as it was.
import Database from "better-sqlite3";

const db = new Database("/data/groups.db");
db.exec("CREATE TABLE IF NOT EXISTS team (id TEXT PRIMARY KEY, title TEXT)");

export function enter(id: string, title: string, before: string) {
  const found = db.prepare("SELECT id FROM team WHERE id = ?").get(id);
  if (found) return;
  db.transaction(() => {
    db.prepare("INSERT OR REPLACE INTO team (id, title) VALUES (?, ?)").run(id, title);
    db.prepare("DELETE FROM news WHERE day < ?").run(before);
  })();
}

export function open(id: string, who: string) {
  const found = db.prepare("SELECT id FROM team WHERE id = ?").get(id);
  if (!found) db.prepare("INSERT OR IGNORE INTO team (id, title) VALUES (?, ?)").run(id, id);
  db.prepare("DELETE FROM member WHERE team_id = ? AND who = ?").run(id, who);
}
