// also: RC303
import * as fs from "fs/promises";

const tails = new Map<string, Promise<void>>();

async function c4<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(key) ?? Promise.resolve();
  let done!: () => void;
  const mine = new Promise<void>((resolve) => {
    done = resolve;
  });
  tails.set(key, before.then(() => mine));
  await before;
  try {
    return await work();
  } finally {
    done();
  }
}

export class Shelf {
  constructor(private readonly file: string) {}

  async add(book: string): Promise<number> {
    return c4(this.file, async () => {
      const books: string[] = JSON.parse(await fs.readFile(this.file, "utf8"));
      books.push(book);
      await fs.writeFile(this.file + ".tmp", JSON.stringify(books));
      await fs.rename(this.file + ".tmp", this.file); // expect: RC201 read=26
      return books.length;
    });
  }
}
