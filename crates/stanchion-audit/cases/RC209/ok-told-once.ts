// deployment: cluster
import express from "express";
import Redis from "ioredis";

const redis = new Redis();
let skipped = 0;
const app = express();
app.post("/:id", async (req, res) => {
  const first = await redis.set("told:" + req.params.id, "1", "EX", 10, "NX");
  if (first) console.log("first of", req.params.id);
  await redis.set("seen:" + req.params.id, String(Date.now()));
  res.end();
});
app.put("/:id", async (req, res) => {
  let mine = true;
  if (!(await redis.set("l:" + req.params.id, "1", "EX", 10, "NX"))) {
    skipped += 1;
    mine = false;
  }
  if (mine) await redis.set("v:" + req.params.id, req.body);
  res.end();
});
app.patch("/:id", async (req, res) => {
  const warm = await redis.set("warm:" + req.params.id, "1", "EX", 10, "NX");
  if (!warm) console.log("it was asked for before");
  await redis.set("seen:" + req.params.id, String(Date.now()));
  res.end();
});
app.listen(1);
