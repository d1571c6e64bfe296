// also: RC302
// A map that one method fills from the file, and another one saves.
import { readFileSync, writeFileSync } from "node:fs";

export class Shelf {
  private readonly books: Map<string, object>;
  constructor(private readonly file: string) {
    this.books = new Map();
  }

  open() {
    for (const book of JSON.parse(readFileSync(this.file, "utf8"))) this.books.set(book.id, book);
  }

  put(book: { id: string }) {
    this.books.set(book.id, book);
    writeFileSync(this.file, JSON.stringify([...this.books.values()])); // expect: RC107 read=12
  }
}
