// also: RC101, RC302
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "/srv/bees/hives.json";
const NONE = { hives: [] as string[], version: 1 };

function hives() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch {
    return { ...NONE };
  }
}

export function add(hive: string): void {
  const all = hives();
  all.hives.push(hive);
  writeFileSync(FILE, JSON.stringify(all)); // expect: RC304 read=9
}
