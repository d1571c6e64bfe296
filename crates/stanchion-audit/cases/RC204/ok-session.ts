// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();

export async function touch(session: string) {
  const data = await redis.get(`session:${session}`);
  if (!data) return null;
  await redis.expire(`session:${session}`, 3600);
  return JSON.parse(data);
}
