// also: RC302, RC101, RC205
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/tree.json";

export async function add(leaf: string) {
  const release = await lockfile.lock(P).catch((error) => {
    console.error(error);
    return undefined;
  });
  const tree = JSON.parse(await fs.readFile(P, "utf8"));
  tree.push(leaf);
  await fs.writeFile(P, JSON.stringify(tree)); // expect: RC209 read=8
  await release?.();
}
