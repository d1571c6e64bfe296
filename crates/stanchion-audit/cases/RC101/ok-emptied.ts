// also: RC302
import { readFile, rename, unlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { mkdtemp } from "node:fs/promises";

const INBOX = "/var/lib/post/inbox.json";

// It is put aside first: whoever writes now makes a new one.
export async function clear() {
  const old = `/var/lib/post/old-${Date.now()}.json`;
  await rename(INBOX, old);
  return JSON.parse(await readFile(old, "utf8"));
}

// A copy is kept of what the caller replaces.
export async function replace(text) {
  const old = await readFile(INBOX, "utf8");
  await writeFile(`${INBOX}.old`, old);
  await writeFile(INBOX, text);
}

// Nobody else knows the folder.
export async function convert(text, to) {
  const folder = await mkdtemp(path.join(os.tmpdir(), "post-"));
  const draft = path.join(folder, "draft");
  await writeFile(draft, text);
  const made = await readFile(draft, "utf8");
  await writeFile(to, made.trim());
  await unlink(draft);
}
