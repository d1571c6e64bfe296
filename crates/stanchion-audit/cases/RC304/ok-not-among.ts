// also: RC302, RC101
// Only what is among those that were read is changed or left out: of an empty list nothing is saved.
import { readFileSync, writeFileSync } from "node:fs";

const BEDS = "/data/beds.json";

interface Bed {
  name: string;
  plants: string[];
}

function beds(): Bed[] {
  try {
    return JSON.parse(readFileSync(BEDS, "utf8"));
  } catch {
    return [];
  }
}

export function plant(name: string, plant: string) {
  const all = beds();
  const at = all.findIndex((one) => one.name === name);
  if (at === -1) return false;
  all[at] = { ...all[at], plants: [...all[at].plants, plant] };
  writeFileSync(BEDS, JSON.stringify(all));
  return true;
}

export function clear(name: string) {
  const all = beds();
  const rest = all.filter((one) => one.name !== name);
  if (rest.length === all.length) return false;
  writeFileSync(BEDS, JSON.stringify(rest));
  return true;
}
