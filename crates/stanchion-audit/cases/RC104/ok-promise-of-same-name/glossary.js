import { compile } from "./words.js";

export class Glossary {
  constructor() {
    this.terms = null;
    this.compiling = null;
  }

  async prepare() {
    if (this.terms) return;
    this.terms = await compile("terms");
  }

  async ready() {
    if (this.terms) return;
    if (this.compiling) {
      await this.compiling;
      return;
    }
    this.compiling = this.prepare().finally(() => {
      this.compiling = null;
    });
    await this.compiling;
  }

  async meaning(word) {
    await this.ready();
    return this.terms.get(word);
  }
}
