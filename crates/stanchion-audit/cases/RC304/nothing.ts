// also: RC101, RC302
// Nothing, and behind that something empty.
import { readFile, writeFile } from "node:fs/promises";

const LINKS = "/data/links.json";
const MARKS = "/data/marks.json";

async function links(): Promise<Record<string, string> | undefined> {
  try {
    return JSON.parse(await readFile(LINKS, "utf8"));
  } catch (error) {
    console.error("no links", error);
  }
}

export async function link(from: string, to: string) {
  const all = (await links()) ?? {};
  all[from] = to;
  await writeFile(LINKS, JSON.stringify(all)); // expect: RC304 read=10
}

async function marks(): Promise<string[] | null> {
  try {
    return JSON.parse(await readFile(MARKS, "utf8"));
  } catch {
    return null;
  }
}

export async function mark(name: string) {
  let all = await marks();
  if (!all) {
    all = [];
  }
  all.push(name);
  await writeFile(MARKS, JSON.stringify(all)); // expect: RC304 read=24
}
