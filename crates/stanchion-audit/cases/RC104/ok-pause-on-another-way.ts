// Who has it in memory does not pause, and who pauses has not read it there.
import { readFile } from "node:fs/promises";

const inMemory = process.env.PLACE === undefined;
let kept: string[] = [];

export async function add(title: string) {
  let all: string[];
  if (inMemory) {
    all = kept;
  } else {
    all = JSON.parse(await readFile("/data/titles.json", "utf8"));
  }
  kept = [...all, title];
}
