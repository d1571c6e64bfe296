import { compile } from "./words.js";

export class Glossary {
  constructor() {
    this.terms = null;
    this.compiling = null;
  }

  async prepare() {
    if (this.terms) return;
    this.terms = await compile("terms"); // expect: RC104 read=10
  }

  async ready() {
    if (this.terms) return;
    this.compiling ??= this.prepare();
    await this.compiling;
  }

  async reload(words) {
    await this.prepare();
    for (const word of words) this.terms.add(word);
  }
}
