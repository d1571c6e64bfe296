// also: RC302
// Read by one method, kept in the object, written by another.
import { readFile, writeFile } from "node:fs/promises";

export class Book {
  private lines: string[] = [];
  constructor(private readonly file: string) {}

  async open() {
    this.lines = JSON.parse(await readFile(this.file, "utf8"));
  }

  async add(line: string) {
    this.lines.push(line);
    await writeFile(this.file, JSON.stringify(this.lines)); // expect: RC107 read=10
  }
}
