import { promises as fs } from "fs";
import express from "express";

const STATUS = "/srv/status.json";
const app = express();

async function t1(): Promise<{ state: string }> {
  return JSON.parse(await fs.readFile(STATUS, "utf8"));
}

app.put("/status", async (req, res) => {
  await fs.writeFile(STATUS, JSON.stringify({ state: req.body.state })); // expect: RC302
  res.status(204).end();
});

app.get("/status", async (_req, res) => {
  res.json(await t1());
});
