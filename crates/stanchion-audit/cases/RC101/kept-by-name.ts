// also: RC302
// What was there is put back if something goes wrong, file by file.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

export function sign(pages: string[], name: string): boolean {
  const before: Record<string, string> = {};
  for (const page of pages) {
    before[page] = readFileSync(page, "utf8");
  }
  try {
    for (const page of pages) appendFileSync(page, name);
    return true;
  } catch (error) {
    for (const [page, text] of Object.entries(before)) {
      writeFileSync(page, text); // expect: RC101 read=8
    }
    return false;
  }
}
