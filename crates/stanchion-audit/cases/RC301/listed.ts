// also: RC302
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const RECIPES = "/srv/kitchen/recipes";

export async function add(title: string, text: string): Promise<void> {
  const names = await readdir(RECIPES);
  if (names.includes(`${title}.md`)) {
    throw new Error("there is one already");
  }
  await writeFile(join(RECIPES, `${title}.md`), text); // expect: RC301 read=9
}
