// also: RC303
// Everybody leaves a promise for the next one and waits for the one before: a lock, but of one process.
import { readFile, rename, writeFile } from "node:fs/promises";

export class Settings {
  private last: Promise<void> = Promise.resolve();
  constructor(private readonly file: string) {}

  private async x<T>(work: () => Promise<T>): Promise<T> {
    const before = this.last;
    let done!: () => void;
    this.last = new Promise<void>((resolve) => (done = resolve));
    await before;
    try {
      return await work();
    } finally {
      done();
    }
  }

  async set(name: string, value: unknown) {
    return this.x(async () => {
      const all = JSON.parse(await readFile(this.file, "utf8"));
      all[name] = value;
      await writeFile(`${this.file}.tmp`, JSON.stringify(all));
      await rename(`${this.file}.tmp`, this.file); // expect: RC201 read=23
    });
  }
}
