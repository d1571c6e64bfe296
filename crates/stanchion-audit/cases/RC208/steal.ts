// also: RC301
import { open, stat, unlink } from "node:fs/promises";

const LOCK = "/tmp/indexer.lock";
const STALE = 60_000;

export async function take(): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      const handle = await open(LOCK, "wx");
      await handle.close();
      return;
    } catch {
      const { mtimeMs } = await stat(LOCK);
      if (Date.now() - mtimeMs > STALE) {
        await unlink(LOCK); // expect: RC208 read=14
      }
    }
  }
  throw new Error("busy");
}
