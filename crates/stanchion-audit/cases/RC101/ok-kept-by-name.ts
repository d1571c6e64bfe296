// also: RC302
// Each goes to another file than it came from.
import { readFileSync, writeFileSync } from "node:fs";

export function copy(pages: string[]): void {
  const copies: Record<string, string> = {};
  for (const page of pages) {
    copies[`${page}.bak`] = readFileSync(page, "utf8");
  }
  for (const [to, text] of Object.entries(copies)) {
    writeFileSync(to, text);
  }
}
