// also: RC301, RC302
// It is written where it was not there, and read where it was.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const GUESTS = "/srv/inn/guests.txt";

export function enter(guest: string): number {
  const open = existsSync(GUESTS);
  let count = 1;
  if (open) {
    count += readFileSync(GUESTS, "utf8").split("\n").length;
  }
  const line = `${count} ${guest}\n`;
  if (!open) writeFileSync(GUESTS, line);
  return count;
}
