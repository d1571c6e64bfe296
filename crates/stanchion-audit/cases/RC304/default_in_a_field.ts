// also: RC101, RC302
import { readFile, writeFile } from "node:fs/promises";
import express from "express";

class Stored<T> {
  constructor(
    private path: string,
    private fallback: T,
  ) {}

  async get(): Promise<T> {
    try {
      return JSON.parse(await readFile(this.path, "utf8"));
    } catch {
      return this.fallback;
    }
  }

  async put(value: T) {
    await writeFile(this.path, JSON.stringify(value)); // expect: RC304 read=13
  }
}

const notes = new Stored<string[]>("/data/notes.json", []);
const app = express();
app.post("/notes", async (req, res) => {
  const all = await notes.get();
  all.push(req.body.text);
  await notes.put(all);
  res.end();
});
app.listen(3000);
