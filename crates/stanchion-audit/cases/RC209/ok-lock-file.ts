// Without the lock file nothing is done: it throws, or it says so and is asked.
import fs from "node:fs";

const LOCK = "/data/list.lock";
const FILE = "/data/list.json";

async function waits(): Promise<void> {
  for (let round = 0; round < 50; round++) {
    try {
      fs.writeFileSync(LOCK, String(process.pid), { flag: "wx" });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  throw new Error("busy");
}

function says(): boolean {
  let got = false;
  try {
    fs.closeSync(fs.openSync(LOCK, "wx"));
    got = true;
  } catch {
    console.error("busy");
  }
  return got;
}

function gives(): (() => void) | null {
  try {
    fs.writeFileSync(LOCK, "", { flag: "wx" });
    return () => fs.unlinkSync(LOCK);
  } catch {
    console.error("busy");
  }
  return null;
}

function change(item: string) {
  const all = JSON.parse(fs.readFileSync(FILE, "utf8"));
  all.push(item);
  fs.writeFileSync(`${FILE}.${process.pid}`, JSON.stringify(all));
  fs.renameSync(`${FILE}.${process.pid}`, FILE);
}

export async function add(item: string) {
  await waits();
  try {
    change(item);
  } finally {
    fs.unlinkSync(LOCK);
  }
}

export function addIfFree(item: string): boolean {
  if (!says()) return false;
  try {
    change(item);
  } finally {
    fs.unlinkSync(LOCK);
  }
  return true;
}

export function addOrNot(item: string): boolean {
  const done = gives();
  if (!done) return false;
  try {
    change(item);
  } finally {
    done();
  }
  return true;
}
