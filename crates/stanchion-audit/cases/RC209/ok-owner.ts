// also: RC302
// Who owns it is written where the lock has been had.
import fs from "node:fs";
import path from "node:path";

const LOCK = "/data/sync.lock";

function had(): boolean {
  try {
    fs.mkdirSync(LOCK);
    fs.writeFileSync(path.join(LOCK, "owner.json"), JSON.stringify({ pid: process.pid }));
    return true;
  } catch (error) {
    console.error("busy", error);
  }
  return false;
}

export function owner() {
  return JSON.parse(fs.readFileSync(path.join(LOCK, "owner.json"), "utf8")).pid;
}

export function sync(work: () => void) {
  if (!had()) return;
  try {
    work();
  } finally {
    fs.rmSync(LOCK, { recursive: true });
  }
}
