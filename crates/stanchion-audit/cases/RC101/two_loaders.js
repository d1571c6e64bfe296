// also: RC302
import { readFile, writeFile } from "node:fs/promises";

export class Shelf {
  constructor(path) {
    this.path = path;
  }

  async books() {
    try {
      return JSON.parse(await readFile(this.path, "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return [];
      throw error;
    }
  }

  async mustHaveBooks() {
    return JSON.parse(await readFile(this.path, "utf8"));
  }

  async keep(books) {
    await writeFile(this.path, JSON.stringify(books)); // expect: RC101 read=11, RC101 read=19
  }

  async lend(title) {
    const books = await this.books();
    books.push(title);
    await this.keep(books);
  }

  async retitle(from, to) {
    const books = await this.mustHaveBooks();
    books[books.indexOf(from)] = to;
    await this.keep(books);
  }
}
