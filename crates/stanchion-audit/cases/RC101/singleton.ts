// also: RC302
// The one object of a class is kept by the class itself.
import { readFile, writeFile } from "node:fs/promises";

class Kept {
  private static only: Kept | undefined;
  constructor(private readonly where: string) {}

  static get(): any {
    if (!Kept.only) {
      Kept.only = new Kept("/data/kept.json");
    }
    return Kept.only;
  }

  async k1() {
    return JSON.parse(await readFile(this.where, "utf8"));
  }

  async k2(all: unknown) {
    await writeFile(this.where, JSON.stringify(all)); // expect: RC101 read=17
  }
}

export async function add(item: string) {
  const kept = Kept.get();
  const all = await kept.k1();
  all.push(item);
  await kept.k2(all);
}
