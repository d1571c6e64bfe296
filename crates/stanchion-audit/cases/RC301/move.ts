import fs from "node:fs/promises";

export async function move(from: string, to: string) {
  try {
    await fs.lstat(to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      await fs.rename(from, to); // expect: RC301 read=5
      return;
    }
    throw error;
  }
  throw new Error("it is there");
}
