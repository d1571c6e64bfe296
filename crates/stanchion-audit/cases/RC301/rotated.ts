import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const LOG = path.join(os.homedir(), "server.log");

export function log(line: string) {
  try {
    if (fs.statSync(LOG).size > 1e6) {
      fs.renameSync(LOG, LOG + ".1"); // expect: RC301 read=9
    }
  } catch {}
  fs.appendFileSync(LOG, line + "\n");
}
