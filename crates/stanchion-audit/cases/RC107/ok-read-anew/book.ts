// also: RC302
import { readFile, writeFile } from "node:fs/promises";

export class Book {
  lines: string[] = [];
  constructor(private readonly file: string) {}

  async load() {
    this.lines = JSON.parse(await readFile(this.file, "utf8"));
  }

  async save() {
    await writeFile(this.file, JSON.stringify(this.lines));
  }
}
