// Each download has a name of its own, and is moved to the one under which it is read.
import { createWriteStream, renameSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import AdmZip from "adm-zip";

const PACK = "/data/pack.zip";

export async function download(url) {
  const answer = await fetch(url);
  const own = `/data/${randomUUID()}.zip`;
  await pipeline(Readable.fromWeb(answer.body), createWriteStream(own));
  renameSync(own, PACK);
}

export function unpack(folder) {
  new AdmZip(PACK).extractAllTo(folder, true);
}
