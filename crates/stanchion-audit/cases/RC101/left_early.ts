// also: RC302
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const PATH = "/srv/shelf.json";

class Shelf {
  books: Record<string, number> = {};

  load() {
    if (existsSync(PATH)) {
      this.books = JSON.parse(readFileSync(PATH, "utf8"));
      return;
    }
    this.books = { none: 0 };
  }

  put(title: string) {
    this.load();
    this.books[title] = 1;
    writeFileSync(PATH, JSON.stringify(this.books)); // expect: RC101 read=11
  }
}

const shelf = new Shelf();

export function put(title: string) {
  shelf.put(title);
}
