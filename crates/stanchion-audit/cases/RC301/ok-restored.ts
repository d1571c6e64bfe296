// also: RC101, RC302
// What failed may be anything in the block: the look at the end decides nothing.
import fs from "node:fs/promises";

export async function edit(path: string, from: string, to: string) {
  const backup = `${path}.${Date.now()}.bak`;
  const text = await fs.readFile(path, "utf8");
  await fs.copyFile(path, backup);
  try {
    await fs.writeFile(path, text.replace(from, to));
    const { size } = await fs.stat(path);
    return size;
  } catch (error) {
    await fs.copyFile(backup, path);
    throw error;
  }
}
