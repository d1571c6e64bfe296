// also: RC302
// What `finally` runs gives nothing: the text is what the file held.
import { readFile, writeFile } from "node:fs/promises";

export async function censor(page: string, word: string, done: () => void): Promise<void> {
  const text = await readFile(page, "utf8").finally(() => done());
  await writeFile(page, text.replaceAll(word, "***")); // expect: RC101 read=6
}
