// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function open(id: string) {
  await redis.set(`session:${id}`, "1", "EX", 60);
  return setInterval(() => void redis.expire(`session:${id}`, 60), 20_000);
}
