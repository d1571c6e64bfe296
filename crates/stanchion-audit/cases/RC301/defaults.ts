// also: RC302
import { existsSync } from "node:fs";
import { writeFile, readFile } from "node:fs/promises";

const CONFIG = "/home/agent/.agent/config.json";

export async function config(): Promise<Record<string, unknown>> {
  if (!existsSync(CONFIG)) {
    await writeFile(CONFIG, JSON.stringify({ theme: "dark" })); // expect: RC301 read=8
  }
  return JSON.parse(await readFile(CONFIG, "utf8"));
}
