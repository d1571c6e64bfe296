// also: RC302
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
    await this.filled();
    this.tasks.push(task);
    await fs.writeFile(this.file, JSON.stringify(this.tasks)); // expect: RC107 read=12
  }
}

export class Notes {
  private notes: any[] = [];
  private filling: Promise<void> | null = null;

  constructor(private file: string) {}

  private filled() {
    if (!this.filling) {
      this.filling = (async () => {
        this.notes = JSON.parse(await fs.readFile(this.file, "utf8"));
      })();
    }
    return this.filling;
  }

  async add(note: any) {
    await this.filled();
    this.notes.push(note);
    await fs.writeFile(this.file, JSON.stringify(this.notes)); // expect: RC107 read=32
  }
}

class Words {
  private static one?: Words;
  static get all() {
    return (this.one ??= new Words());
  }

  private words: string[] = [];
  private loaded = false;

  async add(word: string) {
    if (!this.loaded) {
      this.words = JSON.parse(await fs.readFile("/data/words.json", "utf8"));
      this.loaded = true;
    }
    this.words.push(word);
    await fs.writeFile("/data/words.json", JSON.stringify(this.words)); // expect: RC107 read=56
  }
}

export async function addWord(word: string) {
  await Words.all.add(word);
}
