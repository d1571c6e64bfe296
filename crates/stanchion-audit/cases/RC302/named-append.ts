import fs from "node:fs";

export function all(path: string): string {
  return fs.readFileSync(path, "utf8");
}

export function save(path: string, text: string, options: { append: string }): void {
  fs.writeFileSync(path, text, options.append); // expect: RC302
}
