// also: RC302
import { readFileSync, writeFileSync } from "node:fs";
import express from "express";

function* lines(text) {
  for (const line of text.split("\n")) yield JSON.parse(line);
}

const app = express();
app.put("/log", (req, res) => {
  const known = readFileSync("/data/known.txt", "utf8");
  const keep = [];
  for (const entry of lines(req.body)) if (known.includes(entry.id)) keep.push(entry);
  writeFileSync("/data/log.jsonl", JSON.stringify(keep));
  res.end();
});
app.listen(3000);
