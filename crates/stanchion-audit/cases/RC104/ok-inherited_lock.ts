// also: RC107, RC302
// The lock stands in the class that this one extends.
import { Mutex } from "async-mutex";
import { readFile, writeFile } from "node:fs/promises";

abstract class Repo<T> {
  protected kept: T | null = null;
  protected readonly mutex = new Mutex();

  constructor(protected readonly file: string) {}

  protected async load(): Promise<T> {
    if (this.kept) return this.kept;
    this.kept = JSON.parse(await readFile(this.file, "utf8")) as T;
    return this.kept;
  }

  protected async save(value: T): Promise<void> {
    this.kept = value;
    await writeFile(this.file, JSON.stringify(value));
  }

  async update(change: (value: T) => T): Promise<T> {
    return this.mutex.runExclusive(async () => {
      const next = change(await this.load());
      await this.save(next);
      return next;
    });
  }
}

class Pages extends Repo<string[]> {
  visit(page: string) {
    return this.update((pages) => [...pages, page]);
  }
}

const pages = new Pages("pages.json");

export const visit = (page: string) => pages.visit(page);
