// also: RC302
import { readFile, writeFile } from "node:fs/promises";

export class Disk {
  constructor(private readonly where: string) {}
  async k1() {
    return JSON.parse(await readFile(this.where, "utf8"));
  }
  async k2(all: unknown) {
    await writeFile(this.where, JSON.stringify(all)); // expect: RC101 read=disk.ts:7
  }
}
