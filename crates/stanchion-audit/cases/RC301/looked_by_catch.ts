// also: RC302
import { access, writeFile } from "node:fs/promises";
import express from "express";

const app = express();
app.post("/notes/:name", async (req, res) => {
  const path = `/data/${req.params.name}`;
  const there = await access(path).then(() => true).catch(() => false);
  if (there) return res.status(409).end();
  await writeFile(path, req.body); // expect: RC301 read=8
  res.end();
});
app.listen(3000);
