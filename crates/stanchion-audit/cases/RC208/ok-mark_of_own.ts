// also: RC301, RC302, RC304
// A process removes its own mark only, one that it has ended itself, or one that it has looked at once more.
import fs from "node:fs";

const MARK = "/run/kiln/mark.json";

const read = () => JSON.parse(fs.readFileSync(MARK, "utf8"));

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function light(): boolean {
  if (fs.existsSync(MARK) && lives(read().pid)) return false;
  fs.writeFileSync(MARK, JSON.stringify({ pid: process.pid }));
  return true;
}

export function out(): void {
  if (fs.existsSync(MARK) && read().pid === process.pid) fs.unlinkSync(MARK);
}

export function checked(): void {
  const mark = read();
  if (!lives(mark.pid)) return;
  if (mark.pid !== process.pid) return;
  fs.unlinkSync(MARK);
}

export function stop(): void {
  const { pid } = read();
  if (!lives(pid)) return;
  process.kill(pid, "SIGTERM");
  if (!lives(pid)) fs.unlinkSync(MARK);
}

export function again(): void {
  const first = read();
  if (lives(first.pid)) return;
  if (read().pid === first.pid) fs.unlinkSync(MARK);
}

export function aside(): void {
  if (lives(read().pid)) return;
  fs.renameSync(MARK, `${MARK}.${process.pid}`);
}

process.on("exit", () => fs.unlinkSync(MARK));
