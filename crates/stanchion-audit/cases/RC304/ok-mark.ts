// also: RC101, RC301, RC302
// Only which process is at work stands in the file: whoever cannot read it starts one and writes that.
import fs from "node:fs";

const MARK = "/run/kiln/mark.json";

function mark(): { pid?: number } {
  try {
    return JSON.parse(fs.readFileSync(MARK, "utf8"));
  } catch {
    return {};
  }
}

export function light(): boolean {
  const found = mark();
  if (found.pid) return false;
  fs.writeFileSync(MARK, JSON.stringify({ pid: process.pid }));
  return true;
}
