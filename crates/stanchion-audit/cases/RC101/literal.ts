// also: RC302
// In an object, `this` of a method is the object.
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/data/shelf.json";

export const shelf = {
  async k1() {
    return JSON.parse(await readFile(FILE, "utf8"));
  },
  async k2(all: unknown) {
    await writeFile(FILE, JSON.stringify(all)); // expect: RC101 read=9
  },
  async add(book: string) {
    const all = await this.k1();
    all.push(book);
    await this.k2(all);
  },
};
