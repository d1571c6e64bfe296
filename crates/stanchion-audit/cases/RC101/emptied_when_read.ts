// also: RC302
// What is in it is given to the caller, and then it is emptied: what came in between is in neither.
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";

const BOX = "/data/box.jsonl";

export function drop(line: unknown) {
  appendFileSync(BOX, `${JSON.stringify(line)}\n`);
}

export function taken(): unknown[] {
  const raw = readFileSync(BOX, "utf8").trim();
  if (!raw) return [];
  const all = raw.split("\n").map((line) => JSON.parse(line));
  writeFileSync(BOX, ""); // expect: RC101 read=12
  return all;
}

export function cut(): string | null {
  const raw = readFileSync(BOX, "utf8");
  if (raw) {
    truncateSync(BOX);  // expect: RC101 read=20
    return raw;
  }
  return null;
}
