import { exec, execSync } from "node:child_process";
import fs from "node:fs";
import { unlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(exec);
const INPUT = path.join(os.tmpdir(), "render-input.mmd");

export async function render(text: string) {
  await writeFile(INPUT, text);
  const { stdout } = await run(`mmdc -i ${INPUT}`);
  await unlink(INPUT); // expect: RC303 read=12
  return stdout;
}

export function count(text: string) {
  const file = path.join(os.tmpdir(), "input.txt");
  fs.writeFileSync(file, text);
  try {
    return execSync(`wc ${file}`);
  } finally {
    fs.unlinkSync(file); // expect: RC303 read=20
  }
}
