// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function hit(page: string): Promise<number> {
  const n = await redis.incr(`hits:${page}`);
  if (n === 1) await redis.expire(`hits:${page}`, 86400);
  return n;
}

export async function cached(id: string, compute: (id: string) => Promise<string>): Promise<string> {
  const old = await redis.get(`page:${id}`);
  if (old) return old;
  const html = await compute(id);
  await redis.set(`page:${id}`, html, "EX", 60);
  return html;
}
