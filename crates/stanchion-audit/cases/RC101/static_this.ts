// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import express from "express";

const FILE = "/data/tasks.json";

export class Tasks {
  static async all() {
    return JSON.parse(await readFile(FILE, "utf8"));
  }

  static async add(title: string) {
    const tasks = await this.all();
    tasks.push({ title });
    await writeFile(FILE, JSON.stringify(tasks)); // expect: RC101 read=9
  }
}

const app = express();
app.post("/tasks", async (req, res) => {
  await Tasks.add(req.body.title);
  res.json({});
});
