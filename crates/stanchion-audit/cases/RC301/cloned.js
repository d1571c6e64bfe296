import { access } from "node:fs/promises";
import { simpleGit } from "simple-git";

export async function fetchManual(name) {
  const folder = "manuals/" + name;
  const git = simpleGit();
  try {
    await access(folder);
    await git.cwd(folder).pull();
  } catch {
    await git.clone("https://manuals.example/" + name, folder); // expect: RC301 read=8
  }
}
