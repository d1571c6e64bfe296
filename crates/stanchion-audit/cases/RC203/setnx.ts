// deployment: cluster; also: RC202
import Redis from "ioredis";

const redis = new Redis();

export async function sync(account: string, pull: (account: string) => Promise<void>) {
  const key = `sync:${account}`;
  const mine = await redis.setnx(key, String(process.pid)); // expect: RC203
  if (!mine) return false;
  await redis.expire(key, 60);
  try {
    await pull(account);
  } finally {
    await redis.del(key);
  }
  return true;
}
