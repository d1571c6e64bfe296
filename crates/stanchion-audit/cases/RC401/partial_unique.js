// The key holds for printed pages only.
import Database from "better-sqlite3";

const db = new Database("/data/scans.db");
db.exec(`
  CREATE TABLE IF NOT EXISTS scans (id INTEGER PRIMARY KEY, page TEXT NOT NULL, checksum TEXT, printed INTEGER);
  CREATE UNIQUE INDEX IF NOT EXISTS scans_checksum ON scans (page, checksum) WHERE checksum IS NOT NULL AND printed IS NOT NULL;
`);

export function store(page, checksum) {
  const known = db.prepare("SELECT id FROM scans WHERE page = ? AND checksum = ?").get(page, checksum);
  if (known) return false;
  db.prepare("INSERT OR REPLACE INTO scans (page, checksum) VALUES (?, ?)").run(page, checksum); // expect: RC401 read=11
  return true;
}
