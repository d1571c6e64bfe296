// No scratch file: the database itself is put away with what it holds.
import fs from "node:fs";
import Database from "better-sqlite3";

const VISITS = "/data/visits.db";

export function archive(year) {
  const db = new Database(VISITS);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  fs.renameSync(VISITS, `/archive/visits-${year}.db`);
}

export function asideIfBroken() {
  const db = new Database(VISITS);
  const [{ integrity_check: said }] = db.pragma("integrity_check");
  db.close();
  if (said !== "ok") fs.renameSync(VISITS, `${VISITS}.broken`);
}
