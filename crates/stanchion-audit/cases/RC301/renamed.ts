import fs from "node:fs";

export function archive(from: string, to: string) {
  if (fs.existsSync(to)) {
    throw new Error("it is there");
  }
  fs.renameSync(from, to); // expect: RC301 read=4
}
