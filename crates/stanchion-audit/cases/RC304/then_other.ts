// also: RC101, RC302
import { readFile, writeFile } from "node:fs/promises";

export async function set(x: string) {
  const all = await readFile("/data/f.json", "utf8").then(
    (text) => JSON.parse(text),
    () => ({}),
  );
  all.x = x;
  await writeFile("/data/f.json", JSON.stringify(all)); // expect: RC304 read=5
}
