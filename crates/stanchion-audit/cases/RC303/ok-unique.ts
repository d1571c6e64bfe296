import fs from "node:fs/promises";
import path from "node:path";

export async function save(file: string, text: string): Promise<void> {
  const temp = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.${Date.now()}`);
  await fs.writeFile(temp, text);
  await fs.rename(temp, file);
}
