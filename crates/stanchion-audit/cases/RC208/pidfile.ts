// also: RC301
import fs from "node:fs";

function e1(p: string): boolean {
  const pid = Number(fs.readFileSync(p, "utf8"));
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function e2(p: string): boolean {
  try {
    fs.writeFileSync(p, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (!e1(p)) {
      fs.unlinkSync(p); // expect: RC208 read=5
      return e2(p);
    }
    return false;
  }
}
