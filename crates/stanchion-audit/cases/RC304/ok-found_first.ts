// also: RC101, RC302
// In an empty state there is nothing to be found, and without that nothing is saved.
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/data/tokens.json";

async function load() {
  try {
    return JSON.parse(await readFile(FILE, "utf8"));
  } catch {
    return {};
  }
}

export async function renew(name: string, value: string) {
  const tokens = await load();
  if (!tokens[name]) {
    throw new Error("no such token");
  }
  tokens[name].value = value;
  await writeFile(FILE, JSON.stringify(tokens));
}
