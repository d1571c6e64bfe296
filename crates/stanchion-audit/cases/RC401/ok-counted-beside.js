// Nothing that adds up depends on the look, or the look is taken in the transaction that counts; rows are put over others.
import Database from "better-sqlite3";

const db = new Database("/data/usage.db");
db.exec(`
  CREATE TABLE IF NOT EXISTS visited (place TEXT PRIMARY KEY, size INTEGER);
  CREATE TABLE IF NOT EXISTS word (text TEXT PRIMARY KEY, times INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS line (place TEXT, at INTEGER, text TEXT, PRIMARY KEY (place, at));
`);
const more = db.prepare(
  "INSERT INTO word (text, times) VALUES (?, 1) ON CONFLICT(text) DO UPDATE SET times = times + 1",
);
const mark = db.prepare("INSERT OR REPLACE INTO visited (place, size) VALUES (?, ?)");
const look = db.prepare("SELECT size FROM visited WHERE place = ?");

export function all(places) {
  for (const place of places) {
    more.run(place.name);
    const known = look.get(place.name);
    if (known && known.size === place.size) continue;
    mark.run(place.name, place.size);
  }
}

export const together = db.transaction((place, words) => {
  const known = look.get(place);
  if (known) return;
  for (const word of words) more.run(word);
  mark.run(place, words.length);
});

export function locked(place, words) {
  together.immediate(place, words);
}

export function lines(place, texts) {
  if (look.get(place)) return;
  texts.forEach((text, at) => {
    db.prepare("INSERT OR REPLACE INTO line (place, at, text) VALUES (?, ?, ?)").run(place, at, text);
  });
  mark.run(place, texts.length);
}
