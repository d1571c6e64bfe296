// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function nightly(run: () => Promise<void>) {
  const got = await redis.set("lock:nightly", "1", "PX", 60_000, "NX");
  if (!got) return;
  try {
    await run();
  } finally {
    await redis.del("lock:nightly"); // expect: RC202
  }
}
