// also: RC301, RC303
// What is worth keeping is copied from the database into a new one, which takes its place: what others store in between is gone.
import fs from "node:fs";
import Database from "better-sqlite3";

const STARS = "/data/stars.db";

export function rebuild(stars) {
  const next = `${STARS}.next`;
  fs.rmSync(next, { force: true });
  const db = new Database(next);
  db.exec("CREATE TABLE star (name TEXT PRIMARY KEY, light REAL, seen INTEGER)");
  const put = db.prepare("INSERT INTO star (name, light) VALUES (?, ?)");
  for (const star of stars) put.run(star.name, star.light);
  db.exec(`ATTACH DATABASE '${STARS}' AS before`);
  db.exec("INSERT OR IGNORE INTO star SELECT * FROM before.star WHERE seen = 1");
  db.close();
  fs.renameSync(next, STARS); // expect: RC101 read=15
}
