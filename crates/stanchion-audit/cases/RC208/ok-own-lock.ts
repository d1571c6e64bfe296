import { open, unlink } from "node:fs/promises";

const LOCK = "/tmp/indexer.lock";

export async function exclusively(work: () => Promise<void>): Promise<boolean> {
  let handle;
  try {
    handle = await open(LOCK, "wx");
  } catch {
    return false;
  }
  try {
    await work();
  } finally {
    await handle.close();
    await unlink(LOCK);
  }
  return true;
}
