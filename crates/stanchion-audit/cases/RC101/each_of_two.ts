// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import express from "express";

const read = async (path: string) => JSON.parse(await readFile(path, "utf8"));

const app = express();
app.post("/done/:id", async (req, res) => {
  const [open, done] = await Promise.all(["/data/open.json", "/data/done.json"].map(read));
  done[req.params.id] = open[req.params.id];
  await writeFile("/data/done.json", JSON.stringify(done)); // expect: RC101 read=5
  res.end();
});
app.listen(3000);
