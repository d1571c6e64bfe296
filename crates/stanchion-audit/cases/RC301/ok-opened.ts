import { opendirSync, writeFileSync } from "node:fs";

export function keep(picture: Buffer): void {
  const folder = opendirSync("pages");
  let last = 0;
  for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
    last = Math.max(last, Number.parseInt(entry.name, 10));
  }
  folder.closeSync();
  // Somebody else may have taken it: that is told, and nothing is written over.
  writeFileSync(`pages/${last + 1}.png`, picture, { flag: "wx" });
}
