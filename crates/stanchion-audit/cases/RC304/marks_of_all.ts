// also: RC101, RC301, RC302
// All processes stand in one file: whoever cannot read it forgets the others.
import fs from "node:fs";

const MARKS = "/run/kiln/marks.json";

function marks(): Record<string, number> {
  try {
    return JSON.parse(fs.readFileSync(MARKS, "utf8"));
  } catch {
    return {};
  }
}

export function light(kiln: string): void {
  const found = marks();
  fs.writeFileSync(MARKS, JSON.stringify({ ...found, [kiln]: process.pid })); // expect: RC304 read=9
}
