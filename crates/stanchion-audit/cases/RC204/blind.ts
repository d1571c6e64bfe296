// deployment: cluster
import Redis from "ioredis";

const redis = new Redis();
const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end";

export async function lead(work: () => Promise<void>) {
  const token = String(Math.random());
  if ((await redis.set("job", token, "PX", 5000, "NX")) !== "OK") return;
  const beat = setInterval(() => void redis.pexpire("job", 5000), 2000); // expect: RC204
  try {
    await work();
  } finally {
    clearInterval(beat);
    await redis.eval(RELEASE, 1, "job", token);
  }
}
