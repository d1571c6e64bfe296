// also: RC302
import { readFile, unlink, writeFile } from "node:fs/promises";

const INBOX = "/var/lib/post/inbox.json";

async function letters() {
  return JSON.parse(await readFile(INBOX, "utf8"));
}

export async function clear() {
  const all = await letters();
  if (all.length === 0) return;
  await writeFile(`/var/lib/post/old-${Date.now()}.json`, JSON.stringify(all));
  await writeFile(INBOX, JSON.stringify([])); // expect: RC101 read=11
}

export async function move(from, to) {
  const text = await readFile(`/srv/pages/${from}`, "utf8");
  await writeFile(`/srv/pages/${to}`, text);
  await unlink(`/srv/pages/${from}`); // expect: RC101 read=18
}
