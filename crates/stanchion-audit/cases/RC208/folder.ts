import fs from "node:fs";

export function take(path: string, tries = 5): boolean {
  for (let i = 0; i < tries; i++) {
    try {
      fs.mkdirSync(path);
      return true;
    } catch {
      const { mtimeMs } = fs.statSync(path);
      if (Date.now() - mtimeMs > 10_000) fs.rmdirSync(path); // expect: RC208 read=9
    }
  }
  return false;
}

export function run(path: string, work: () => void) {
  const taken = take(path);
  if (!taken) throw new Error("busy");
  try {
    work();
  } finally {
    if (taken) fs.rmdirSync(path); // expect: RC202
  }
}
