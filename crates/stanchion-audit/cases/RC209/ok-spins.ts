// The same in the form of JavaScript: each loop ends only when the lock was had.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

const store = new Redis();
const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end";

async function take(key: string, token: string) {
  for (;;) {
    const had = await store.set(key, token, "PX", 5000, "NX");
    if (had === "OK") return;
    await sleep(50);
  }
}

export async function first() {
  const token = randomUUID();
  await take("first", token);
  try {
    await store.set("n", Number(await store.get("n")) + 1);
  } finally {
    await store.eval(RELEASE, 1, "first", token);
  }
}

export async function second() {
  const token = randomUUID();
  while ((await store.set("second", token, "PX", 5000, "NX")) !== "OK") await sleep(50);
  try {
    await store.set("m", Number(await store.get("m")) + 1);
  } finally {
    await store.eval(RELEASE, 1, "second", token);
  }
}
