import fs from "node:fs/promises";
import path from "node:path";

interface Prompt {
  id: string;
  text: string;
}

export class Prompts {
  constructor(private folder: string) {}

  async save(prompt: Prompt) {
    await fs.writeFile(path.join(this.folder, `${prompt.id}.json`), JSON.stringify(prompt)); // expect: RC302
  }

  async load(id: string): Promise<Prompt> {
    return JSON.parse(await fs.readFile(path.join(this.folder, `${id}.json`), "utf8"));
  }
}
