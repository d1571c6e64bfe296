// What is fetched goes into the file by a pipe: whoever finds the beginning of it takes it for all.
import fs, { createWriteStream } from "node:fs";

const ATLAS = "/data/atlas.csv";

export function fetched(source) {
  if (fs.existsSync(ATLAS)) {
    return ATLAS;
  }
  const out = createWriteStream(ATLAS);
  source.pipe(out); // expect: RC301 read=7
  return ATLAS;
}
