// also: RC302, RC304
// Written only if it is not there: no change of others is lost, but two can make it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const FILE = "/data/plan.json";

export class Plan {
  private ticket: unknown = null;

  start() {
    try {
      this.ticket = JSON.parse(readFileSync(FILE, "utf8")).ticket;
    } catch {
      this.ticket = null;
    }
    if (!existsSync(FILE)) {
      writeFileSync(FILE, JSON.stringify({ ticket: this.ticket })); // expect: RC301 read=16
    }
  }
}
