// also: RC302, RC304
// What is written because it could not be read does not come from what was read.
import { readFile, writeFile } from "node:fs/promises";

export class Config {
  private all: Record<string, unknown> = { most: 10 };
  constructor(private readonly file: string) {}

  async load() {
    try {
      const text = await readFile(this.file, "utf8");
      this.all = { ...this.all, ...JSON.parse(text) };
    } catch {
      await this.save();
    }
    return this.all;
  }

  async save() {
    await writeFile(this.file, JSON.stringify(this.all));
  }
}
