// also: RC101, RC302
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/data/plan.json";
const FORM = { title: "", steps: [], about: { made: new Date().toISOString(), done: 0 } };

async function load() {
  try {
    return JSON.parse(await readFile(FILE, "utf8"));
  } catch {
    return { ...FORM };
  }
}

export async function retitle(title: string) {
  const plan = await load();
  plan.title = title;
  await writeFile(FILE, JSON.stringify(plan)); // expect: RC304 read=9
}
