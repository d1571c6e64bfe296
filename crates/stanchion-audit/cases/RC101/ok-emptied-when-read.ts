// also: RC302
// It is moved away before it is read, or emptied whatever is in it, or because it is too long.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

const BOX = "/data/box.jsonl";

export function taken(): string[] {
  const own = `${BOX}.${randomUUID()}`;
  renameSync(BOX, own);
  const raw = readFileSync(own, "utf8").trim();
  rmSync(own);
  return raw.split("\n");
}

export function empty(): boolean {
  const raw = readFileSync(BOX, "utf8");
  if (!raw) return false;
  writeFileSync(BOX, "");
  return true;
}

export function bounded(): string {
  const raw = readFileSync(BOX, "utf8");
  if (raw.length > 1_000_000) writeFileSync(BOX, "");
  return raw;
}
