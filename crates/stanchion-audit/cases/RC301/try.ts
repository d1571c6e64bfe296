import fs from "node:fs/promises";

export async function ensure(file: string): Promise<void> {
  try {
    await fs.access(file);
  } catch {
    await fs.writeFile(file, "{}"); // expect: RC301 read=5
  }
}
