// also: RC101 RC302
// How many there are is told, and names are those that are there.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const SHOTS = path.resolve("shots");
const PAGES = path.resolve("pages");

export function tell(title: string): void {
  const count = readdirSync(SHOTS).length + 1;
  writeFileSync(path.join(SHOTS, "title.txt"), `${title}, page ${count}`);
}

export function copied(): void {
  readdirSync(SHOTS).forEach((name, at) => {
    writeFileSync(path.join(PAGES, `${at + 1}.png`), readFileSync(path.join(SHOTS, name)));
  });
}

export function signed(mark: string): void {
  for (const name of readdirSync(SHOTS)) {
    const file = path.join(SHOTS, name);
    writeFileSync(file, readFileSync(file, "utf8") + mark);
  }
}
