// Whoever works for longer than a minute removes the folder of the next one.
import { mkdirSync, rmdirSync, statSync, writeFileSync } from "node:fs";

const LOCK = "/data/ledger.lock";

function take() {
  for (let tries = 0; tries < 9; tries++) {
    try {
      mkdirSync(LOCK);
      return true;
    } catch {
      try {
        if (Date.now() - statSync(LOCK).mtimeMs > 60_000) {
          rmdirSync(LOCK); // expect: RC208 read=13
        }
      } catch {}
    }
  }
  return false;
}

function giveBack() {
  try {
    rmdirSync(LOCK); // expect: RC202
  } catch {}
}

export function enter(lines) {
  if (!take()) throw new Error("busy");
  try {
    writeFileSync("/data/ledger", lines);
  } finally {
    giveBack();
  }
}
