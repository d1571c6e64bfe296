import fs from "node:fs/promises";

export class Store {
  constructor(private readonly path: string) {}

  async put(state: object): Promise<void> {
    const temp = `${this.path}.tmp`;
    await fs.writeFile(temp, JSON.stringify(state));
    await fs.rename(temp, this.path); // expect: RC303 read=8
  }

  async get(): Promise<object> {
    return JSON.parse(await fs.readFile(this.path, "utf8"));
  }
}
