// also: RC302
import fs from "node:fs/promises";
import lockfile from "proper-lockfile";

const PATH = "/srv/app/theme.json";

export async function show(): Promise<string> {
  const release = await lockfile.lock(PATH);
  try {
    return await fs.readFile(PATH, "utf8");
  } finally {
    await release();
  }
}

export async function replace(theme: object): Promise<void> {
  const old = await show();
  console.log("replacing", old.length);
  const release = await lockfile.lock(PATH);
  try {
    await fs.writeFile(PATH, JSON.stringify(theme));
  } finally {
    await release();
  }
}
