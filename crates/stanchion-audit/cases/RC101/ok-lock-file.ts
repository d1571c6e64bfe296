// also: RC302, RC304
// A file that only one can make, and that is removed afterwards, is a lock of the machine.
import { open, readFile, unlink, writeFile } from "node:fs/promises";

const FILE = "/data/state.json";
const LOCK = `${FILE}.lock`;

async function take(tries: number) {
  for (let i = 0; i < tries; i++) {
    try {
      return await open(LOCK, "wx");
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  throw new Error("busy");
}

async function locked<T>(work: () => Promise<T>): Promise<T> {
  const handle = await take(20);
  try {
    return await work();
  } finally {
    await handle.close();
    await unlink(LOCK);
  }
}

async function load() {
  try {
    return JSON.parse(await readFile(FILE, "utf8"));
  } catch {
    return {};
  }
}

export async function mark(id: string) {
  await locked(async () => {
    const state = await load();
    state[id] = true;
    await writeFile(FILE, JSON.stringify(state));
  });
}
