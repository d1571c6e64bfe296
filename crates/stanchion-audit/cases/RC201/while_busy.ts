// also: RC302
// Whoever finds it free marks it before others can run: a lock, but of one process.
import { readFile, writeFile } from "node:fs/promises";

const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));

class Store {
  private busy = false;

  private async locked<T>(work: () => Promise<T>): Promise<T> {
    while (this.busy) await sleep(10);
    this.busy = true;
    try {
      return await work();
    } finally {
      this.busy = false;
    }
  }

  async add(x: string) {
    return this.locked(async () => {
      const all = JSON.parse(await readFile("/data/a.json", "utf8"));
      all.push(x);
      await writeFile("/data/a.json", JSON.stringify(all)); // expect: RC201 read=22
    });
  }
}

const held = new Set<string>();

export async function withSet(id: string, x: string) {
  while (held.has(id)) await sleep(5);
  held.add(id);
  try {
    const all = JSON.parse(await readFile(`/data/${id}.json`, "utf8"));
    all.push(x);
    await writeFile(`/data/${id}.json`, JSON.stringify(all)); // expect: RC201 read=35
  } finally {
    held.delete(id);
  }
}
