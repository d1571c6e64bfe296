// also: RC101, RC107, RC302
// In one case it is emptied, in the other one it stays as empty as it was at first.
import { readFile, writeFile } from "node:fs/promises";

const PATH = "/data/links.json";
let links: Record<string, string> = {};

async function load() {
  try {
    links = JSON.parse(await readFile(PATH, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      links = {};
    } else {
      console.error("cannot read", error);
    }
  }
}

export async function link(from: string, to: string) {
  await load();
  links[from] = to;
  await writeFile(PATH, JSON.stringify(links)); // expect: RC304 read=10
}
