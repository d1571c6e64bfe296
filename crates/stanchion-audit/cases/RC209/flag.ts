// deployment: cluster; also: RC202, RC205, RC103
import Redis from "ioredis";

const redis = new Redis();

async function n1(k: string) {
  return redis.set(k, "1", "PX", 5000, "NX");
}

export async function n2(user: string, points: number) {
  await n1(`lock:${user}`);
  const old = Number(await redis.get(`points:${user}`));
  await redis.set(`points:${user}`, old + points); // expect: RC209 read=7
  await redis.del(`lock:${user}`);
}
