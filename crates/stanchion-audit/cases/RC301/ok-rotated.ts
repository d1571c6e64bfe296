import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const LOG = path.join(os.homedir(), "server.log");

// Under a name of its own it is moved over nothing.
export function stamped(line: string) {
  if (fs.statSync(LOG).size > 1e6) fs.renameSync(LOG, `${LOG}.${Date.now()}`);
  fs.appendFileSync(LOG, line + "\n");
}

// By one who does not write it.
export function weekly() {
  if (fs.statSync(LOG).size > 1e6) fs.renameSync(LOG, `${LOG}.old`);
}
