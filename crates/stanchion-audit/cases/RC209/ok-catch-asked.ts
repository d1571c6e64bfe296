// also: RC302
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/tree.json";

async function take(path: string) {
  try {
    return await lockfile.lock(path);
  } catch {
    return null;
  }
}

export async function add(leaf: string) {
  const release = await lockfile.lock(P).catch(() => null);
  if (!release) return "busy";
  try {
    const tree = JSON.parse(await fs.readFile(P, "utf8"));
    tree.push(leaf);
    await fs.writeFile(P, JSON.stringify(tree));
  } finally {
    await release();
  }
  return "done";
}

export async function addByHelper(leaf: string) {
  const release = await take(P);
  if (!release) throw new Error("busy");
  try {
    const tree = JSON.parse(await fs.readFile(P, "utf8"));
    tree.push(leaf);
    await fs.writeFile(P, JSON.stringify(tree));
  } finally {
    await release();
  }
}

export async function addOrFail(leaf: string) {
  const release = await lockfile.lock(P).catch((error) => {
    throw new Error(`busy: ${error}`);
  });
  try {
    const tree = JSON.parse(await fs.readFile(P, "utf8"));
    tree.push(leaf);
    await fs.writeFile(P, JSON.stringify(tree));
  } finally {
    await release();
  }
}
