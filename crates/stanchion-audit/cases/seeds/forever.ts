// bugs: the article's own wrong examples (no ttl, and a release without a look at the owner); deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function pack(order: string, work: () => Promise<void>) {
  const mine = await redis.setnx(`busy:${order}`, "1"); // expect: RC203
  if (mine !== 1) return false;
  try {
    await work();
  } finally {
    await redis.del(`busy:${order}`); // expect: RC202
  }
  return true;
}
