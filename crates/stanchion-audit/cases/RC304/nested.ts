// also: RC101, RC302
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const FILE = "/data/seen.json";

export async function remember(id: string) {
  try {
    let seen: string[] = [];
    try {
      if (existsSync(FILE)) seen = JSON.parse(readFileSync(FILE, "utf8"));
    } catch {
      // start anew
    }
    seen.push(id);
    writeFileSync(FILE, JSON.stringify(seen)); // expect: RC304 read=10
  } catch {
    console.error("not remembered");
  }
}
