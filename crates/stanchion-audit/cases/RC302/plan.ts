import { readFileSync, writeFileSync } from "fs";
import { join } from "path";

export class Plan {
  private readonly file: string;
  constructor(dir: string) {
    this.file = join(dir, "plan.md");
  }

  replace(text: string) {
    writeFileSync(this.file, text); // expect: RC302
  }

  show(): string {
    return readFileSync(this.file, "utf8");
  }
}
