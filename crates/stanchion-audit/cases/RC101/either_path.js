// also: RC302
// One of two files, and both times the same one.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

function place(given) {
  let name = given.trim();
  if (name.endsWith("/")) {
    name = "index.md";
  }
  return join("/pages", name);
}

export async function stamp(given, line) {
  const text = await readFile(place(given), "utf8");
  await writeFile(place(given), text + line); // expect: RC101 read=15
}
