// also: RC302
import { readFileSync, writeFileSync } from "node:fs";
import express from "express";

const FILE = "/data/log.jsonl";

function* entries() {
  for (const line of readFileSync(FILE, "utf8").split("\n")) yield JSON.parse(line);
}

const app = express();
app.delete("/log/:id", (req, res) => {
  const keep = [];
  for (const entry of entries()) if (entry.id !== req.params.id) keep.push(entry);
  writeFileSync(FILE, keep.map((entry) => JSON.stringify(entry)).join("\n")); // expect: RC101 read=8
  res.end();
});
app.listen(3000);
