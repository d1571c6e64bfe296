// also: RC302
// What a helper empties on its way out is emptied only where the helper was called.
import fs from "node:fs/promises";

export class Draft {
  async save(text, isOver) {
    this.pages = JSON.parse(await fs.readFile("/data/draft.json", "utf8"));
    if (isOver) this.clear();
    else await fs.writeFile("/data/draft.json", JSON.stringify([...this.pages, text])); // expect: RC101 read=7
  }

  clear() {
    if (this.isOpen) {
      this.pages = [];
      if (this.isOld) {
        this.pages = null;
        return;
      }
      return;
    }
  }
}
