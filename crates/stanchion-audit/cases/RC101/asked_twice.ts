// also: RC301, RC302
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const GUESTS = "/srv/inn/guests.txt";

export function enter(guest: string): void {
  const open = existsSync(GUESTS);
  let guests = "";
  if (open) {
    guests = readFileSync(GUESTS, "utf8");
  }
  if (open) {
    writeFileSync(GUESTS, guests + guest); // expect: RC101 read=10
  }
}
