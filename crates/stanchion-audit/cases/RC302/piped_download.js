// One name for all downloads, and whoever unpacks it reads whatever is there.
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import AdmZip from "adm-zip";

const PACK = "/data/pack.zip";

export async function download(url) {
  const answer = await fetch(url);
  await pipeline(Readable.fromWeb(answer.body), createWriteStream(PACK)); // expect: RC302
}

export function unpack(folder) {
  new AdmZip(PACK).extractAllTo(folder, true);
}
