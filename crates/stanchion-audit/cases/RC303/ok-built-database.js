// Each builder has a file of its own, a folder of its own, or the lock.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import lockfile from "proper-lockfile";

const STARS = "/data/stars.db";

function fill(place, stars) {
  const db = new Database(place);
  db.exec("CREATE TABLE star (name TEXT PRIMARY KEY, light REAL)");
  const put = db.prepare("INSERT INTO star (name, light) VALUES (?, ?)");
  for (const star of stars) put.run(star.name, star.light);
  db.close();
}

export function named(stars) {
  const next = `${STARS}.${process.pid}`;
  fill(next, stars);
  fs.renameSync(next, STARS);
}

export function apart(stars) {
  const next = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "stars-")), "stars.db");
  fill(next, stars);
  fs.renameSync(next, STARS);
}

export async function locked(stars) {
  const release = await lockfile.lock("/data");
  try {
    const next = `${STARS}.next`;
    fill(next, stars);
    fs.renameSync(next, STARS);
  } finally {
    await release();
  }
}
