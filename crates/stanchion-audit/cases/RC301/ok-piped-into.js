// It gets its name when it is there as a whole, or fails if there is one; and what is piped may be no file.
import fs, { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { randomUUID } from "node:crypto";
import zlib from "node:zlib";
import { filter, map } from "rxjs";

const ATLAS = "/data/atlas.csv";

export async function fetched(source) {
  if (fs.existsSync(ATLAS)) {
    return ATLAS;
  }
  const own = `${ATLAS}.${randomUUID()}`;
  const out = createWriteStream(own);
  source.pipe(out);
  await finished(out);
  fs.renameSync(own, ATLAS);
  return ATLAS;
}

export function once(source) {
  if (fs.existsSync(ATLAS)) {
    return ATLAS;
  }
  source.pipe(createWriteStream(ATLAS, { flags: "wx" }));
  return ATLAS;
}

export function sent(source, response) {
  if (fs.existsSync(ATLAS)) {
    source.pipe(zlib.createGzip()).pipe(response);
  }
  return source.pipe(filter(Boolean), map(String));
}
