// also: RC302, RC107
import { writeFile, appendFile } from "node:fs/promises";

const state: Record<string, string> = {};
let chain: Promise<unknown> = Promise.resolve();

function save() {
  chain = chain.then(() => writeFile("/data/state.json", JSON.stringify(state)));
  return chain;
}

export async function set(key: string, value: string) {
  state[key] = value;
  void appendFile("/data/changes.log", `${key}=${value}\n`);
  await save();
}
