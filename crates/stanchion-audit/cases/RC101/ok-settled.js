// also: RC302
// What is made of a path only now and then is not what another path is made of.
import { readFile, writeFile } from "node:fs/promises";

function backup(given) {
  return given.trim().concat(".bak");
}

export async function save(given) {
  const text = await readFile(given.trim(), "utf8");
  await writeFile(backup(given), text);
}

export async function step(list) {
  const text = await readFile(list.next().path, "utf8");
  await writeFile(list.next().next().path, text);
}
