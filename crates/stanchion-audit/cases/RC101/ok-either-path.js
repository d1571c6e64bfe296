// also: RC302
// Both can be the same file, but what callers give is mostly not.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

function place(given) {
  let name = given.trim();
  if (name === "/") {
    name = "";
  }
  return join("/pages", name);
}

function start(given) {
  return given.endsWith("/") ? "index.md" : given;
}

export async function copy(from, to) {
  const text = await readFile(place(from), "utf8");
  await writeFile(place(to), text);
}

export async function publish(from, to) {
  const text = await readFile(join("/drafts", start(from)), "utf8");
  await writeFile(join("/drafts", start(to)), text);
}
