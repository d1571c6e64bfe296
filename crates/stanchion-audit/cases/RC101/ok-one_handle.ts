// One that only writes to the end of what it has read.
import { open } from "node:fs/promises";

export async function note(line: string): Promise<void> {
  const handle = await open("/data/notes.txt", "a+");
  const text = await handle.readFile("utf8");
  await handle.writeFile(text.endsWith("\n") ? line : `\n${line}`);
  await handle.close();
}
