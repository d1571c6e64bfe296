// also: RC101, RC302, RC107
// If it cannot be read, the program ends.
import fs from "node:fs";

const FILE = "/data/keys.json";
let keys: Record<string, string> = {};

export function load() {
  try {
    keys = JSON.parse(fs.readFileSync(FILE, "utf8"));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

export function add(name: string, key: string) {
  load();
  keys[name] = key;
  fs.writeFileSync(FILE, JSON.stringify(keys));
}
