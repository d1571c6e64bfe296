// also: RC302, RC301
// Behind the optional check nobody gets on where there is a page already.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";

const PAGE = "/data/page.md";

function put(text: string, seen?: number) {
  if (seen !== undefined && existsSync("/data")) {
    if (statSync("/data").mtimeMs > seen) throw new Error("changed meanwhile");
  }
  if (existsSync(PAGE)) throw new Error("there already");
  writeFileSync(PAGE, text);
}

export function begin(name: string) {
  let text = "";
  try {
    text = readFileSync(PAGE, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  put(text + name);
}
