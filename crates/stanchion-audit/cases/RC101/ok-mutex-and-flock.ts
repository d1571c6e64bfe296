// also: RC302, RC304
import fs from "node:fs/promises";
import lockfile from "proper-lockfile";
import { Mutex } from "async-mutex";

const STATE = "/var/lib/agent/state.json";
const mutex = new Mutex();

async function locked<T>(work: () => Promise<T>): Promise<T> {
  return mutex.runExclusive(async () => {
    const release = await lockfile.lock(STATE, { retries: 5 });
    try {
      return await work();
    } finally {
      await release();
    }
  });
}

async function load(): Promise<Record<string, number>> {
  return JSON.parse(await fs.readFile(STATE, "utf8"));
}

export async function bump(name: string): Promise<number> {
  return locked(async () => {
    const state = await load();
    state[name] = (state[name] ?? 0) + 1;
    await fs.writeFile(STATE, JSON.stringify(state));
    return state[name];
  });
}
