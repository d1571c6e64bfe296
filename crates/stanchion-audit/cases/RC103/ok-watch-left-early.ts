import express from "express";
import Redis from "ioredis";

const redis = new Redis();
const app = express();

app.post("/take/:show", async (request, response) => {
  const own = redis.duplicate();
  await own.watch(request.params.show);
  const taken = Number(await own.get(request.params.show));
  if (taken > 99) {
    await own.unwatch();
    return response.end();
  }
  await own.multi().set(request.params.show, taken + 1).exec();
  response.end();
});

app.listen(3000);
