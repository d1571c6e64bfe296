// also: RC302
// Whoever says when he has seen the page is told that it has changed since; nobody has to say so.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";

const PAGE = "/data/page.md";

function put(text: string, seen?: number) {
  if (seen !== undefined && existsSync(PAGE)) {
    if (statSync(PAGE).mtimeMs > seen) throw new Error("changed meanwhile");
  }
  writeFileSync(PAGE, text); // expect: RC101 read=15
}

export function sign(name: string, seen?: number) {
  const text = readFileSync(PAGE, "utf8");
  put(text + name, seen);
}
