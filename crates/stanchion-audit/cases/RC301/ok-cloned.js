// Each has a folder of his own.
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { simpleGit } from "simple-git";

export async function look(name) {
  if (existsSync("manuals/" + name)) return null;
  const folder = await mkdtemp("/tmp/manual-");
  await simpleGit().clone("https://manuals.example/" + name, folder);
  return folder;
}
