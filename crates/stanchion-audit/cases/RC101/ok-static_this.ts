// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import express from "express";
import lockfile from "proper-lockfile";

const FILE = "/data/tasks.json";

export class Tasks {
  static async all() {
    return JSON.parse(await readFile(FILE, "utf8"));
  }

  static async alone(work: () => Promise<void>) {
    const release = await lockfile.lock(FILE, { retries: 5 });
    try {
      await work();
    } finally {
      await release();
    }
  }

  static async add(title: string) {
    await this.alone(async () => {
      const tasks = await this.all();
      tasks.push({ title });
      await writeFile(FILE, JSON.stringify(tasks));
    });
  }
}

const app = express();
app.post("/tasks", async (req, res) => {
  await Tasks.add(req.body.title);
  res.json({});
});
