import { execFileSync } from "node:child_process";
import fs from "node:fs";

export function fetchOnce(target: string, url: string) {
  if (fs.existsSync(target)) return;
  execFileSync("curl", ["-o", target + ".part", url]);
  fs.renameSync(target + ".part", target);
}

export function fetchTo(dir: string, name: string, url: string) {
  if (fs.existsSync(`${dir}/${name}`)) return;
  execFileSync("curl", ["-o", `${dir}/${name}.part`, url]);
  fs.renameSync(`${dir}/${name}.part`, `${dir}/${name}`);
}
