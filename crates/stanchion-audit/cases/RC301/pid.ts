// also: RC302
import fs from "node:fs";

const PID = "/run/sync.pid";

export function start() {
  if (fs.existsSync(PID)) {
    const pid = Number(fs.readFileSync(PID, "utf8"));
    if (fs.existsSync(`/proc/${pid}`)) {
      console.error("it runs already");
      process.exit(1);
    }
  }
  fs.writeFileSync(PID, String(process.pid)); // expect: RC301 read=7
}
