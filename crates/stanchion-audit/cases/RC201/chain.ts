// also: RC302
import { readFile, writeFile } from "node:fs/promises";

export class Ledger {
  private tail: Promise<unknown> = Promise.resolve();
  constructor(private readonly file: string) {}

  private x<T>(work: () => Promise<T>): Promise<T> {
    const next = this.tail.then(work, work);
    this.tail = next.catch(() => undefined);
    return next;
  }

  async add(name: string, amount: number): Promise<number> {
    return this.x(async () => {
      const all = JSON.parse(await readFile(this.file, "utf8"));
      all[name] = (all[name] ?? 0) + amount;
      await writeFile(this.file, JSON.stringify(all)); // expect: RC201 read=16
      return all[name];
    });
  }
}
