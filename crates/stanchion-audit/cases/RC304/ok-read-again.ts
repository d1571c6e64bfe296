// What is saved was read again, under the lock, and only "not there" is empty.
import { readFile, rename, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";

type All = Record<string, unknown>;

export class Config {
  private all: All = {};
  private ready = false;
  private last: Promise<unknown> = Promise.resolve();
  constructor(private readonly file: string) {}

  private async read(): Promise<All> {
    return JSON.parse(await readFile(this.file, "utf8"));
  }

  async open() {
    if (this.ready) return;
    try {
      this.all = await this.read();
    } catch (error) {
      console.error("not readable now", error);
      this.all = {};
    }
    this.ready = true;
  }

  private async change(work: (all: All) => void) {
    const release = await lockfile.lock(this.file, { realpath: false });
    try {
      let latest: All;
      try {
        latest = await this.read();
      } catch (error: any) {
        if (error.code !== "ENOENT") throw error;
        latest = {};
      }
      work(latest);
      const own = `${this.file}.${process.pid}.${Math.random()}`;
      await writeFile(own, JSON.stringify(latest));
      await rename(own, this.file);
      this.all = { ...latest };
    } finally {
      try {
        await release();
      } catch (error) {
        console.error("not given back", error);
      }
    }
  }

  async set(name: string, value: unknown) {
    await this.open();
    const done = this.last.then(() => this.change((all) => (all[name] = value)));
    this.last = done.then(
      () => undefined,
      () => undefined,
    );
    await done;
  }

  get(name: string) {
    return this.all[name];
  }
}
