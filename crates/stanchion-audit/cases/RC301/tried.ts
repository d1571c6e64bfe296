// also: RC302
// Who finds it leaves; the rest is for those who do not.
import { access, rename, writeFile } from "node:fs/promises";

export async function draft(file: string, text: string): Promise<boolean> {
  try {
    await access(file);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  await writeFile(file, text); // expect: RC301 read=7
  return true;
}

export async function move(from: string, to: string, force: boolean): Promise<void> {
  if (!force) {
    try {
      await access(to);
      throw new Error("taken");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  await rename(from, to); // expect: RC301 read=19
}

export async function fill(files: string[], text: string): Promise<void> {
  for (const file of files) {
    try {
      await access(file);
      continue;
    } catch {
      // It is made now.
    }
    await writeFile(file, text); // expect: RC301 read=31
  }
}
