// also: RC302
import { readFile, writeFile } from "node:fs/promises";

const PLACE = "/data/books.json";

class Books {
  constructor(private place: string) {}

  async load(): Promise<string[]> {
    return JSON.parse(await readFile(this.place, "utf8"));
  }

  async save(books: string[]): Promise<void> {
    await writeFile(this.place, JSON.stringify(books)); // expect: RC101 read=10
  }
}

const ways: Record<string, (books: Books, title: string) => Promise<unknown>> = {
  add: async (books, title) => {
    const all = await books.load();
    all.push(title);
    await books.save(all);
  },
  titles: async (books) => books.load(),
};

export async function call(way: string, title: string) {
  return ways[way](new Books(PLACE), title);
}
