// also: RC101, RC302
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "/srv/bees/queens.json";
const NONE = { queens: {} as Record<string, string> };

function queens() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch (error) {
    return structuredClone(NONE);
  }
}

export function name(hive: string, queen: string): void {
  const all = queens();
  all.queens[hive] = queen;
  writeFileSync(FILE, JSON.stringify(all)); // expect: RC304 read=9
}
