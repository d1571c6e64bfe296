// The mark can be set twice without harm; what is counted before it is counted twice.
import { statSync } from "node:fs";
import Database from "better-sqlite3";

const db = new Database("/data/usage.db");
db.exec(`
  CREATE TABLE IF NOT EXISTS visited (place TEXT PRIMARY KEY, size INTEGER);
  CREATE TABLE IF NOT EXISTS word (text TEXT PRIMARY KEY, times INTEGER NOT NULL);
`);
const more = db.prepare(
  "INSERT INTO word (text, times) VALUES (?, 1) ON CONFLICT(text) DO UPDATE SET times = times + 1",
);

async function count(place) {
  for (const word of await wordsOf(place)) more.run(word);
}

async function wordsOf(place) {
  const answer = await fetch(`http://localhost/${place}`);
  return answer.json();
}

export async function walk(places) {
  for (const place of places) {
    const { size } = statSync(place);
    const known = db.prepare("SELECT size FROM visited WHERE place = ?").get(place);
    if (known && known.size === size) continue;
    await count(place);
    db.prepare("INSERT OR REPLACE INTO visited (place, size) VALUES (?, ?)").run(place, size); // expect: RC401 read=26
  }
}
