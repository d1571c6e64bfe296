// also: RC302, RC101
// Others may be in it: what is put in where it is not found is put into an empty list all the same.
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

export function put(bed: Bed) {
  const all = beds();
  const at = all.findIndex((one) => one.name === bed.name);
  if (at === -1) {
    all.push(bed);
  } else {
    all[at] = bed;
  }
  writeFileSync(BEDS, JSON.stringify(all)); // expect: RC304 read=14
}

export function once(bed: Bed) {
  const all = beds();
  if (all.findIndex((one) => one.name === bed.name) !== -1) return;
  writeFileSync(BEDS, JSON.stringify([...all, bed])); // expect: RC304 read=14
}
