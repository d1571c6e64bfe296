// also: RC302, RC101, RC205
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/tree.json";

async function take(path: string) {
  try {
    return await lockfile.lock(path);
  } catch {
    return async () => {};
  }
}

export async function add(leaf: string) {
  const release = await take(P);
  try {
    const tree = JSON.parse(await fs.readFile(P, "utf8"));
    tree.push(leaf);
    await fs.writeFile(P, JSON.stringify(tree)); // expect: RC209 read=9
  } finally {
    await release();
  }
}
