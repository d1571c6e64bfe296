// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function migrate(version: string, apply: () => Promise<void>) {
  const first = await redis.setnx(`migrated:${version}`, String(Date.now()));
  if (!first) return false;
  await apply();
  return true;
}
