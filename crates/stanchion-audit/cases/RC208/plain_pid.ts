// also: RC301, RC302
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";

const OWNER = "/run/mirror/owner.json";

function busy(): boolean {
  if (!existsSync(OWNER)) return false;
  const { pid } = JSON.parse(readFileSync(OWNER, "utf8"));
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    unlinkSync(OWNER); // expect: RC208 read=8
    return false;
  }
}

export function begin(): boolean {
  if (busy()) return false;
  writeFileSync(OWNER, JSON.stringify({ pid: process.pid }));
  return true;
}
