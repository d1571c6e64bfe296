// deployment: cluster
import Redis from "ioredis";
import { randomUUID } from "node:crypto";

const redis = new Redis();
const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

export async function exclusively(name: string, work: () => Promise<void>) {
  const token = randomUUID();
  const got = await redis.set(`lock:${name}`, token, "PX", 30_000, "NX");
  if (!got) throw new Error("busy");
  try {
    await work();
  } finally {
    await redis.eval(RELEASE, 1, `lock:${name}`, token);
  }
}

export async function logout(session: string) {
  await redis.del(`session:${session}`);
}
