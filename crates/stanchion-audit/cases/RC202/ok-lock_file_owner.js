// also: RC208
// Whoever gives it back looks whose it is, or could not even begin; and a folder that nobody takes over is still one's own.
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

const LOCK = "/data/ledger.lock";
const FOLDER = "/data/index.lock";
const mine = randomUUID();

function take() {
  for (let tries = 0; tries < 9; tries++) {
    try {
      writeFileSync(LOCK, mine, { flag: "wx" });
      return true;
    } catch {
      try {
        if (Date.now() - statSync(LOCK).mtimeMs > 60_000) unlinkSync(LOCK);
      } catch {}
    }
  }
  return false;
}

export function enter(lines) {
  if (!take()) throw new Error("busy");
  try {
    writeFileSync("/data/ledger", lines);
  } finally {
    if (readFileSync(LOCK, "utf8") === mine) unlinkSync(LOCK);
  }
}

export function begin(start) {
  if (!take()) return;
  try {
    start();
  } catch {
    unlinkSync(LOCK);
  }
}

export function index(words) {
  mkdirSync(FOLDER);
  try {
    writeFileSync("/data/index", words);
  } finally {
    rmdirSync(FOLDER);
  }
}
