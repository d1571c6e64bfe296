// The promise is put there before anybody else can run.
import { compile, Terms } from "./words.js";

class Glossary {
  private terms: Terms | null = null;
  private compiling: Promise<void> | null = null;

  private async prepare() {
    if (this.terms) return;
    this.terms = await compile("terms");
  }

  async ready() {
    if (this.terms) return;
    this.compiling ??= this.prepare();
    await this.compiling;
  }

  async meaning(word: string) {
    if (!this.terms) await (this.compiling ||= this.prepare());
    return this.terms!.get(word);
  }
}

export const glossary = new Glossary();
