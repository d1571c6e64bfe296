// also: RC302
// Tests give it a file system of their own; everybody else has the real one.
import * as fs from "node:fs";

export class Notes {
  private disk: typeof fs;
  constructor(private readonly path: string) {
    this.disk = fs;
  }

  useDisk(disk: typeof fs) {
    this.disk = disk;
  }

  async add(note: string) {
    const all = JSON.parse(await this.disk.promises.readFile(this.path, "utf8"));
    all.push(note);
    await this.disk.promises.writeFile(this.path, JSON.stringify(all)); // expect: RC101 read=16
  }
}
