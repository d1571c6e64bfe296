// deployment: cluster
import express from "express";
import Redis from "ioredis";

const redis = new Redis();
const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end";

class Lease {
  private token = crypto.randomUUID();
  constructor(private key: string) {}

  async start() {
    if ((await redis.set(this.key, this.token, "PX", 5000, "NX")) !== "OK") throw new Error("busy");
  }

  async stop() {
    await redis.eval(RELEASE, 1, this.key, this.token);
  }
}

const app = express();
app.post("/", async (_req, res) => {
  const lease = new Lease("job");
  await lease.start();
  try {
    await fetch("http://x", { method: "POST" });
  } finally {
    await lease.stop();
  }
  res.end();
});
app.listen(1);
