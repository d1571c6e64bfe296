// deployment: cluster; also: RC103, RC205
import express from "express";
import Redis from "ioredis";
import Redlock from "redlock";

const redis = new Redis();
const redlock = new Redlock([redis]);
const app = express();
app.post("/", async (_req, res) => {
  const lock = await redlock.acquire(["a"], 1000).catch(() => null);
  const v = JSON.parse((await redis.get("v")) ?? "{}");
  v.n = (v.n ?? 0) + 1;
  await redis.set("v", JSON.stringify(v)); // expect: RC209 read=10
  await lock?.release();
  res.end();
});
app.listen(1);
