// also: RC101, RC302
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "/srv/boats/sailed.json";

function understood(text: string): Record<string, string> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export function sail(boat: string, day: string): void {
  const sailed = understood(readFileSync(FILE, "utf8"));
  sailed[boat] = day;
  writeFileSync(FILE, JSON.stringify(sailed)); // expect: RC304 read=15
}
