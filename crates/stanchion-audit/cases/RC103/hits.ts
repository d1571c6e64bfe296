// deployment: cluster
import Redis from "ioredis";
import { Worker } from "bullmq";

const redis = new Redis(process.env.REDIS_URL!);

const name = (day: string) => `hits:${day}`;

async function p(key: string): Promise<number> {
  return Number(await redis.get(key)) || 0;
}

async function q(key: string, n: number): Promise<void> {
  await redis.set(key, String(n)); // expect: RC103 read=10
}

new Worker("clicks", async (job) => {
  const key = name(job.data.day);
  const count = await p(key);
  await q(key, count + 1);
});
