// also: RC301
import { exec } from "node:child_process";
import fs from "node:fs";
import { mkdtemp, unlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(exec);

export async function own(text: string) {
  const file = path.join(os.tmpdir(), `in-${process.pid}-${Date.now()}.txt`);
  await writeFile(file, text);
  await run(`wc ${file}`);
  await unlink(file);
}

export async function named(id: string, text: string) {
  const file = path.join("/data", `${id}.txt`);
  await writeFile(file, text);
  await run(`wc ${file}`);
  await unlink(file);
}

export async function inFolder(text: string) {
  const dir = await mkdtemp(path.join(os.tmpdir(), "x-"));
  await writeFile(path.join(dir, "in.txt"), text);
  await run(`wc ${dir}/in.txt`);
  await unlink(path.join(dir, "in.txt"));
}

// Only whether it can be written.
export async function probe() {
  await writeFile("/data/.write-test", "");
  await unlink("/data/.write-test");
}

export async function serve() {
  await writeFile("/data/x.pid", String(process.pid));
  await run("serve");
  await unlink("/data/x.pid");
}

// Somebody else's: it is looked at first.
export async function reset(text: string) {
  if (!fs.existsSync("/data/state.txt")) return;
  await writeFile("/data/state.txt", text);
  await run("flush");
  await unlink("/data/state.txt");
}
