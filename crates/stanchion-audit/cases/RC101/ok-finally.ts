// also: RC302
// What the function reads at the end is not what comes back.
import { readFile, writeFile } from "node:fs/promises";

export async function refresh(page: string, fetched: Promise<string>): Promise<void> {
  const text = await fetched.finally(() => readFile(page, "utf8"));
  await writeFile(page, text);
}
