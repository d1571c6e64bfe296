// also: RC302
// The flag is taken back first: it is read in each call, which is RC101.
import fs from "node:fs/promises";

export class Tasks {
  private tasks: any[] = [];
  private loaded = false;

  constructor(private file: string) {}

  private async filled() {
    if (this.loaded) return;
    this.tasks = JSON.parse(await fs.readFile(this.file, "utf8"));
    this.loaded = true;
  }

  async add(task: any) {
    this.loaded = false;
    await this.filled();
    this.tasks.push(task);
    await fs.writeFile(this.file, JSON.stringify(this.tasks)); // expect: RC101 read=13
  }
}
