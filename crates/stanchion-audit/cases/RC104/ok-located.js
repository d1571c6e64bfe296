// Whoever looks twice where a folder is, or what is in it, finds the same.
import { readdir, realpath } from "node:fs/promises";
import { sep } from "node:path";

class Shelf {
  root = null;
  titles = null;

  constructor(folder) {
    this.folder = folder;
  }

  async holds(path) {
    if (!this.root) {
      const found = await realpath(this.folder);
      this.root = found.endsWith(sep) ? found : found + sep;
    }
    return path.startsWith(this.root);
  }

  async list() {
    if (!this.titles) this.titles = await readdir(this.folder);
    return this.titles;
  }
}

export const shelf = new Shelf(process.cwd());
