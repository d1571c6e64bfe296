// also: RC302, RC301
// What is written in the branch is new there: nothing of what was read goes back.
import fs from "node:fs/promises";

const FILE = "/data/limits.json";

export async function limits() {
  let found = JSON.parse(await fs.readFile(FILE, "utf8"));
  if (found.version !== 2) {
    found = { version: 2, most: 10 };
    await fs.writeFile(FILE, JSON.stringify(found));
  }
  return found;
}
