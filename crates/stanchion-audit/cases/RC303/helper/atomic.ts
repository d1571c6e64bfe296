import { writeFile, rename } from "fs/promises";

export async function h1(target: string, text: string): Promise<void> {
  const side = target + ".new";
  await writeFile(side, text, "utf8");
  await rename(side, target); // expect: RC303 read=5
}
