// also: RC101, RC302
import { readFile, writeFile } from "node:fs/promises";

const PATH = "/data/memory.json";

async function load(): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(PATH, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return {};
  }
}

export async function remember(key: string, value: string) {
  const memory = await load();
  memory[key] = value;
  await writeFile(PATH, JSON.stringify(memory));
}
