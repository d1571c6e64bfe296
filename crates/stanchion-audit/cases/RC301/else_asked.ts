// also: RC101, RC302
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const GUESTS = "/srv/inn/guests.txt";

export function enter(guest: string): number {
  const open = existsSync(GUESTS);
  let count = 1;
  if (open) {
    count += readFileSync(GUESTS, "utf8").split("\n").length;
  }
  const line = `${count} ${guest}\n`;
  if (!open) writeFileSync(GUESTS, line); // expect: RC301 read=7
  return count;
}
