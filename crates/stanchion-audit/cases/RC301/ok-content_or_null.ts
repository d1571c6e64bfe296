// also: RC302
// What is there may be replaced; only whether there is something to replace is asked.
import fs from "node:fs";

function page(file: string): string | null {
  if (!fs.existsSync(file)) return null;
  return fs.readFileSync(file, "utf8");
}

export function replace(file: string, text: string): boolean {
  if (!page(file)) return false;
  fs.writeFileSync(file, text);
  return true;
}

export function put(file: string, text: string): boolean {
  const old = page(file);
  if (old === text) return false;
  fs.writeFileSync(file, text);
  return true;
}
