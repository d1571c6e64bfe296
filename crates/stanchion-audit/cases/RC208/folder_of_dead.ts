import fs from "node:fs/promises";
import path from "node:path";

const LOCK = "/data/locks/write";

export async function take() {
  while (true) {
    try {
      await fs.mkdir(LOCK);
      await fs.writeFile(path.join(LOCK, "owner.json"), JSON.stringify({ pid: process.pid }), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (await clear(LOCK)) continue;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

async function clear(lock: string) {
  const owner = JSON.parse(await fs.readFile(path.join(lock, "owner.json"), "utf8"));
  if (isAlive(owner.pid)) return false;
  await fs.rm(lock, { recursive: true, force: true }); // expect: RC208 read=21
  return true;
}

function isAlive(pid: number) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
