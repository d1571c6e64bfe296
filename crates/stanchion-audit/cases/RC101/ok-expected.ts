// also: RC302
import fs from "node:fs/promises";

// It is there already: whoever else has written it meanwhile is overwritten, as by any other write.
export async function unlessThere(file: string, text: string) {
  const now = await fs.readFile(file, "utf8");
  if (now === text) return false;
  await fs.writeFile(file, text);
  return true;
}

// Whose it is does not change.
export async function ifOwn(file: string, user: string, text: string) {
  const now = JSON.parse(await fs.readFile(file, "utf8"));
  if (now.owner !== user) throw new Error("not yours");
  await fs.writeFile(file, text);
}
