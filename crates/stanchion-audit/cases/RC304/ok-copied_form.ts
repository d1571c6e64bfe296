// also: RC101, RC302
// What takes its place was read, too, and the error of the other is only a file that is not there.
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "/srv/bees/hives.json";
const NONE = { hives: [] as string[], version: 1 };
const shared = JSON.parse(readFileSync("/srv/bees/shared.json", "utf8"));

function hives() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch {
    return { ...shared };
  }
}

function strict() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { ...NONE };
  }
}

export function add(hive: string): void {
  const all = hives();
  all.hives.push(hive);
  writeFileSync(FILE, JSON.stringify(all));
}

export function put(hive: string): void {
  const all = strict();
  all.hives.push(hive);
  writeFileSync(FILE, JSON.stringify(all));
}
