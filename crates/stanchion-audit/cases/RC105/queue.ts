// also: RC302
import fs from "fs/promises";
import { Mutex } from "async-mutex";

export class JobQueue {
  private mutex = new Mutex();
  constructor(private file: string) {}

  private async load(): Promise<string[]> {
    return this.mutex.runExclusive(async () => JSON.parse(await fs.readFile(this.file, "utf8")));
  }

  private async store(jobs: string[]): Promise<void> {
    await this.mutex.runExclusive(async () => {
      await fs.writeFile(this.file, JSON.stringify(jobs)); // expect: RC105 read=10
    });
  }

  async push(job: string): Promise<number> {
    const jobs = await this.load();
    jobs.push(job);
    await this.store(jobs);
    return jobs.length;
  }
}
