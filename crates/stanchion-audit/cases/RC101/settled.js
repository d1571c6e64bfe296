// also: RC302
// A path that is brought into its form twice is the same path.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

function form(given) {
  let path = given.trim();
  if (path.startsWith("~")) {
    path = path.slice(1);
  }
  if (path === "/") {
    path = "";
  } else if (path.startsWith("/")) {
    path = path.slice(1);
  }
  return path;
}

async function load(given) {
  return readFile(join("/pages", form(given)), "utf8");
}

export async function patch(given, from, to) {
  const path = form(given);
  const text = await load(path);
  await writeFile(join("/pages", path), text.replace(from, to)); // expect: RC101 read=20
}
