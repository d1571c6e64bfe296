// also: RC101, RC201, RC302
// Each request makes the object, and with it a lock of its own.
import { readFile, writeFile } from "node:fs/promises";
import { Mutex } from "async-mutex";
import express from "express";

class Notes {
  private gate = new Mutex();

  async add(note: unknown) {
    await this.gate.runExclusive(async () => { // expect: RC206
      const all = JSON.parse(await readFile("/data/notes.json", "utf8"));
      all.push(note);
      await writeFile("/data/notes.json", JSON.stringify(all));
    });
  }
}

const app = express();
app.post("/notes", async (req, res) => {
  const notes = new Notes();
  await notes.add(req.body);
  res.end();
});
app.listen(3000);
