// also: RC302
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/tree.json";

export async function save(text: string) {
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(P);
  } catch (error) {
    console.error("busy", error);
    process.exit(1);
  }
  try {
    await fs.writeFile(P, text);
  } finally {
    await release();
  }
}
