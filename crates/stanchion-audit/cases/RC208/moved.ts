// also: RC301
import fs from "node:fs";

const LOCK = "/data/list.lock";

export function take(): boolean {
  for (let round = 0; round < 5; round++) {
    try {
      fs.writeFileSync(LOCK, String(process.pid), { flag: "wx" });
      return true;
    } catch (error: any) {
      if (error.code !== "EEXIST") throw error;
      const { mtimeMs } = fs.statSync(LOCK);
      if (Date.now() - mtimeMs > 30_000) {
        const grave = `${LOCK}.${process.pid}`;
        fs.renameSync(LOCK, grave); // expect: RC208 read=13
        fs.unlinkSync(grave);
      }
    }
  }
  return false;
}
