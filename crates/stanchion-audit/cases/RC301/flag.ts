import { access, copyFile } from "node:fs/promises";

export async function keep(from: string, to: string) {
  let there = false;
  try {
    await access(to);
    there = true;
  } catch {
    there = false;
  }
  if (there) return;
  await copyFile(from, to); // expect: RC301 read=6
}
