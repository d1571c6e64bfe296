// also: RC302
// Joined in two ways, it is one file.
import fs from "node:fs/promises";
import path from "node:path";

export async function bump(dir: string, id: string) {
  const item = JSON.parse(await fs.readFile(path.join(dir, "items", `${id}.json`), "utf8"));
  item.count += 1;
  await fs.writeFile(`${dir}/items/${id}.json`, JSON.stringify(item)); // expect: RC101 read=7
}
