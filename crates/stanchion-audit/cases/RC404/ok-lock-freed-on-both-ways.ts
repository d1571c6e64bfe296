// deployment: cluster; also: RC202, RC205
import Redis from "ioredis";

const redis = new Redis();

export async function alone(name: string, work: () => Promise<void>) {
  if (!(await redis.set(`busy:${name}`, "1", "EX", 60, "NX"))) return;
  try {
    await work();
    await redis.del(`busy:${name}`);
  } catch (error) {
    await redis.del(`busy:${name}`);
    throw error;
  }
}
