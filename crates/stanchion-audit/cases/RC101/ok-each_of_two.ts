// also: RC302
// The file that is written is another one.
import { readFile, writeFile } from "node:fs/promises";
import express from "express";

const read = async (path: string) => JSON.parse(await readFile(path, "utf8"));

const app = express();
app.post("/report", async (_req, res) => {
  const [open, done] = await Promise.all(["/data/open.json", "/data/done.json"].map(read));
  await writeFile("/data/report.json", JSON.stringify([open.length, done.length]));
  res.end();
});
app.listen(3000);
