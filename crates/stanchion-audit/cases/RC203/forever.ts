// deployment: cluster; also: RC202
import { createClient } from "redis";

const c = createClient();

async function aa(k: string) {
  return c.set(k, "1", { NX: true }); // expect: RC203
}

async function bb(k: string) {
  await c.del(k);
}

export async function once(name: string, work: () => Promise<void>) {
  if (!(await aa(name))) return;
  try {
    await work();
  } finally {
    await bb(name);
  }
}
