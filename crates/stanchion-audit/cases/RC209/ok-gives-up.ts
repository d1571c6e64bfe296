// also: RC302
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/tree.json";

export async function add(leaf: string): Promise<boolean> {
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(P);
  } catch (error) {
    console.warn("busy", error);
    return false;
  }
  try {
    const tree = JSON.parse(await fs.readFile(P, "utf8"));
    tree.push(leaf);
    await fs.writeFile(P, JSON.stringify(tree));
  } finally {
    await release();
  }
  return true;
}
