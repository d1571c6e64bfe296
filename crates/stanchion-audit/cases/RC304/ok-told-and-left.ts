// also: RC101, RC302
// What is not "not there" ends the call, in an arm of its own.
import { readFile, writeFile } from "node:fs/promises";

const PATH = "/data/visits.json";

async function load(): Promise<string[]> {
  try {
    return JSON.parse(await readFile(PATH, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return [];
    } else {
      console.error("cannot read", error);
      throw error;
    }
  }
}

export async function visit(name: string) {
  const visits = await load();
  visits.push(name);
  await writeFile(PATH, JSON.stringify(visits));
}
