// also: RC301
// A database is built beside the one that is in use, under one name for all.
import fs from "node:fs";
import Database from "better-sqlite3";

const STARS = "/data/stars.db";

export function rebuild(stars) {
  const next = `${STARS}.next`;
  fs.rmSync(next, { force: true });
  const db = new Database(next);
  db.exec("CREATE TABLE star (name TEXT PRIMARY KEY, light REAL)");
  const put = db.prepare("INSERT INTO star (name, light) VALUES (?, ?)");
  for (const star of stars) put.run(star.name, star.light);
  db.close();
  fs.renameSync(next, STARS); // expect: RC303 read=11
}
