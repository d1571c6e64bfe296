// Each of the two has the lock from the write to the move.
import { readFile, rename, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";

const FILE = "/data/settings.json";

async function change(name: string, value: unknown) {
  const release = await lockfile.lock(FILE);
  try {
    const all = JSON.parse(await readFile(FILE, "utf8"));
    all[name] = value;
    await writeFile(`${FILE}.tmp`, JSON.stringify(all));
    await rename(`${FILE}.tmp`, FILE);
  } finally {
    await release();
  }
}

export async function both(value: unknown) {
  await change("a", value);
  await change("b", value);
}
