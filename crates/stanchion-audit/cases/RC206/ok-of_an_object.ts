// also: RC101, RC201, RC302
// The object is kept, and so is its lock.
import { readFile, writeFile } from "node:fs/promises";
import { Mutex } from "async-mutex";
import express from "express";

class Notes {
  private gate = new Mutex();
  constructor(private path: string) {}

  async add(note: unknown) {
    await this.gate.runExclusive(async () => {
      const all = JSON.parse(await readFile(this.path, "utf8"));
      all.push(note);
      await writeFile(this.path, JSON.stringify(all));
    });
  }
}

const books = new Map<string, Notes>();
let last: Notes | undefined;

const app = express();
app.post("/notes/:book", async (req, res) => {
  let notes = books.get(req.params.book);
  if (!notes) {
    notes = new Notes(`/data/${req.params.book}.json`);
    books.set(req.params.book, notes);
  }
  await notes.add(req.body);
  res.end();
});
app.post("/last", async (req, res) => {
  last ??= new Notes("/data/last.json");
  await last.add(req.body);
  res.end();
});
app.listen(3000);
