// also: RC302
import { existsSync, writeFileSync } from "node:fs";
import { attach } from "./socket";

const FILE = "/run/relay/owner";

export function own(): boolean {
  if (existsSync(FILE)) {
    try {
      attach(4711);
    } catch {
      return false;
    }
  }
  writeFileSync(FILE, String(process.pid)); // expect: RC301 read=8
  return true;
}
