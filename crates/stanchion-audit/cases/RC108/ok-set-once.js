// also: RC101, RC302, RC304
// What is set once is no state, and what an unknown function does with its callback nobody knows.
import { readFile, writeFile } from "node:fs/promises";
import { ready } from "some-frame";

const TITLE = "# Visitors";
const FILE = "/data/visitors.md";

async function greet(name) {
  const old = await readFile(FILE, "utf8").catch(() => "");
  await writeFile(FILE, `${old || TITLE}\n${name}`);
}

export function start(names) {
  for (const name of names) {
    greet(name);
  }
}
