// deployment: cluster; also: RC103
import express from "express";
import Redis from "ioredis";

const redis = new Redis();
const app = express();
app.post("/:id", async (req, res) => {
  const ok = await redis.set("l:" + req.params.id, "1", "EX", 10, "NX");
  if (!ok) console.warn("no lock");
  const v = JSON.parse((await redis.get("v:" + req.params.id)) ?? "{}");
  v.n = (v.n ?? 0) + 1;
  await redis.set("v:" + req.params.id, JSON.stringify(v)); // expect: RC209 read=8
  res.end();
});
app.listen(1);
