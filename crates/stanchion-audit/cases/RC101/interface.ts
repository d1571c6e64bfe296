// also: RC302
// Only one class implements the interface: it is what the constructor is given.
import { readFile, writeFile } from "node:fs/promises";

interface Kept<T> {
  k1(): Promise<T[]>;
  k2(all: T[]): Promise<void>;
}

export class Disk implements Kept<string> {
  constructor(private readonly where: string) {}
  async k1() {
    return JSON.parse(await readFile(this.where, "utf8"));
  }
  async k2(all: string[]) {
    await writeFile(this.where, JSON.stringify(all)); // expect: RC101 read=13
  }
}

export class Lists {
  constructor(private readonly kept: Kept<string>) {}
  async add(item: string) {
    const all = await this.kept.k1();
    all.push(item);
    await this.kept.k2(all);
  }
}
