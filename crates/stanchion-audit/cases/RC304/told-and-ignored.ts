// also: RC101, RC302
// The error is looked at, but whichever it is, it goes on with something empty.
import { readFile, writeFile } from "node:fs/promises";

const PATH = "/data/visits.json";

async function load(): Promise<string[]> {
  try {
    return JSON.parse(await readFile(PATH, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") console.error("cannot read", error);
    return [];
  }
}

export async function visit(name: string) {
  const visits = await load();
  visits.push(name);
  await writeFile(PATH, JSON.stringify(visits)); // expect: RC304 read=9
}
