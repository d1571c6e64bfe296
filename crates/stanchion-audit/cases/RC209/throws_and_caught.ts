// deployment: cluster; also: RC405, RC205
import express from "express";
import Redis from "ioredis";

const redis = new Redis();
const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end";

async function start(key: string, token: string) {
  const ok = await redis.set(key, token, "PX", 5000, "NX");
  if (!ok) throw new Error("busy");
}

const app = express();
app.post("/", async (_req, res) => {
  const token = crypto.randomUUID();
  try {
    await start("job", token);
  } catch (error) {
    console.warn("no lock, going on", error);
  }
  await fetch("http://x", { method: "POST" }); // expect: RC209 read=9
  await redis.eval(RELEASE, 1, "job", token);
  res.end();
});
app.listen(1);
