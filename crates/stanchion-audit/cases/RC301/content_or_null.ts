// also: RC302
import fs from "node:fs";

const FILE = "/run/relay/session.json";

async function session(): Promise<{ port: number } | null> {
  if (!fs.existsSync(FILE)) return null;
  return JSON.parse(fs.readFileSync(FILE, "utf8"));
}

export async function open(port: number): Promise<void> {
  if (await session()) return;
  fs.writeFileSync(FILE, JSON.stringify({ port })); // expect: RC301 read=7
}
