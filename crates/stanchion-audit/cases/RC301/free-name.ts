import fs from "node:fs";
import path from "node:path";

export function stamped(dir: string, name: string, body: string) {
  let target = path.join(dir, name + ".md");
  if (fs.existsSync(target)) {
    target = path.join(dir, `${name}-${Date.now()}.md`);
  }
  fs.writeFileSync(target, body); // expect: RC301 read=6
}

function freeIn(dir: string, base: string): string {
  let candidate = path.join(dir, `${base}.md`);
  let n = 1;
  while (fs.existsSync(candidate) && n < 100) candidate = path.join(dir, `${base}-${n++}.md`);
  return candidate;
}

export async function counted(dir: string, name: string, body: string) {
  const target = freeIn(dir, name);
  await fs.promises.writeFile(target, body); // expect: RC301 read=15
}

export async function moved(from: string, dir: string) {
  let to = path.join(dir, path.basename(from));
  let n = 1;
  const there = (file: string) =>
    fs.promises
      .access(file)
      .then(() => true)
      .catch(() => false);
  while (await there(to)) {
    to = path.join(dir, `${n++}-${path.basename(from)}`);
  }
  await fs.promises.rename(from, to); // expect: RC301 read=32
}

function firstFree(dir: string) {
  for (let i = 0; i < 100; i++) {
    const file = path.join(dir, `note-${i}.md`);
    if (!fs.existsSync(file)) return file;
  }
  throw new Error("full");
}

export function first(dir: string, body: string) {
  fs.writeFileSync(firstFree(dir), body); // expect: RC301 read=41
}
