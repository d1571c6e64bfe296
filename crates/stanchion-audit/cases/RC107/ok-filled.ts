// also: RC302
// What was read fills a map, and what is written is something else, or goes somewhere else.
import { readFileSync, writeFileSync } from "node:fs";

export class Shelf {
  private readonly books: Map<string, object>;
  private readonly lent: Map<string, string>;
  constructor(private readonly file: string, private readonly list: string) {
    this.books = new Map();
    this.lent = new Map();
  }

  open() {
    for (const book of JSON.parse(readFileSync(this.file, "utf8"))) this.books.set(book.id, book);
  }

  export() {
    writeFileSync(this.list, JSON.stringify([...this.books.values()]));
  }

  lend(id: string, who: string) {
    this.lent.set(id, who);
    writeFileSync(this.file + ".lent", JSON.stringify([...this.lent.entries()]));
  }
}
