// deployment: cluster; also: RC103
import express from "express";
import Redis from "ioredis";

const redis = new Redis();

async function take(key: string, token: string) {
  for (let i = 0; i < 10; i++) {
    if (await redis.set(key, token, "EX", 10, "NX")) return true;
    await new Promise((resolve) => setTimeout(resolve, 50 * Math.random()));
  }
  return false;
}

const app = express();
app.post("/:id", async (req, res) => {
  const ok = await take("l:" + req.params.id, req.ip!);
  if (!ok) console.warn("no lock");
  const v = JSON.parse((await redis.get("v:" + req.params.id)) ?? "{}");
  v.n = (v.n ?? 0) + 1;
  await redis.set("v:" + req.params.id, JSON.stringify(v)); // expect: RC209 read=9
  res.end();
});
app.listen(1);
