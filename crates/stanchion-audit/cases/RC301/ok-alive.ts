// also: RC302
// Whether the other one lives says nothing of the lock that is taken afterwards: it is our own.
import { closeSync, existsSync, openSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";

export function start(lock: string, run: () => void): void {
  if (existsSync(lock)) {
    const pid = Number(readFileSync(lock, "utf8"));
    try {
      process.kill(pid, 0);
      return;
    } catch {
      // It is gone.
    }
  }
  closeSync(openSync(lock, "wx"));
  writeFileSync(lock, String(process.pid));
  try {
    run();
  } catch {
    unlinkSync(lock);
  }
}
