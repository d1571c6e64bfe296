// also: RC302
import { access, writeFile } from "node:fs/promises";
import express from "express";

const there = (path: string) => access(path).then(
  () => true,
  () => false,
);

const app = express();
app.post("/notes/:name", async (req, res) => {
  const path = `/data/${req.params.name}`;
  if (await there(path)) return res.status(409).end();
  await writeFile(path, req.body); // expect: RC301 read=5
  res.end();
});
app.listen(3000);
