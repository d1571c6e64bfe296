// also: RC302
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/var/lib/errands/list.json";

enum State {
  Free = "free",
  Mine = "mine",
}

async function errands() {
  return JSON.parse(await readFile(FILE, "utf8"));
}

async function errand(id) {
  return (await errands()).find((one) => one.id === id) ?? null;
}

async function change(id, to) {
  const all = await errands();
  const at = all.findIndex((one) => one.id === id);
  if (at === -1) return;
  all[at] = { ...all[at], ...to };
  await writeFile(FILE, JSON.stringify(all)); // expect: RC101 read=20
}

// Two see that it is free, and both go.
export async function take(id) {
  const one = await errand(id);
  if (!one) return "there is none";
  if (one.state !== State.Free) return "somebody has it";
  await change(id, { state: State.Mine }); // expect: RC101 read=29
  return "go";
}

// That it is there is no reason to fear for what is written.
export async function rename(id, title) {
  const one = await errand(id);
  if (!one) return "there is none";
  await change(id, { title });
}
