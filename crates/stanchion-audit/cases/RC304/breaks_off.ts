// also: RC302, RC101
import { readFile, writeFile } from "node:fs/promises";

export async function add(item: string): Promise<void> {
  let all: string[] = [];
  for (let turn = 0; ; turn++) {
    try {
      all = JSON.parse(await readFile("a.json", "utf8"));
      break;
    } catch (error) {
      console.error(error);
      if (turn >= 3) {
        break;
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  all.push(item);
  await writeFile("a.json", JSON.stringify(all)); // expect: RC304 read=8
}
