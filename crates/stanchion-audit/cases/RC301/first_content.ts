// also: RC302
// The first version is always the same, but others write more.
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";

const BEDS = "/srv/garden/beds.txt";

export async function prepare(): Promise<void> {
  if (!existsSync(BEDS)) await writeFile(BEDS, "# beds\n"); // expect: RC301 read=9
}

export async function plant(beds: string[]): Promise<void> {
  await writeFile(BEDS, beds.join("\n"));
}
