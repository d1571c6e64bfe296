// also: RC302, RC201
import fs from "node:fs/promises";
import lockfile from "proper-lockfile";
import express from "express";

const PATH = "/srv/app/settings.json";

async function a1<T>(work: () => Promise<T>): Promise<T> {
  const release = await lockfile.lock(PATH);
  try {
    return await work();
  } finally {
    await release();
  }
}

const b1 = () => a1(async () => JSON.parse(await fs.readFile(PATH, "utf8")));
const c1 = (data: object) => a1(async () => fs.writeFile(PATH, JSON.stringify(data))); // expect: RC105 read=17

const app = express();
app.put("/settings/:key", async (req, res) => {
  const settings = await b1();
  settings[req.params.key] = req.body.value;
  await c1(settings);
  res.json(settings);
});
