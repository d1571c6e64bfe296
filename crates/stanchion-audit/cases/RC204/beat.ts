// deployment: cluster; also: RC202
import Redis from "ioredis";
import { randomUUID } from "node:crypto";

const redis = new Redis();

export async function lead(name: string, work: () => Promise<void>) {
  const token = randomUUID();
  const key = `leader:${name}`;
  if (!(await redis.set(key, token, "PX", 30_000, "NX"))) return;
  const beat = setInterval(async () => {
    if ((await redis.get(key)) === token) {
      await redis.pexpire(key, 30_000); // expect: RC204 read=12
    }
  }, 10_000);
  try {
    await work();
  } finally {
    clearInterval(beat);
  }
}
