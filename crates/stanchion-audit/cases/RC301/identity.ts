// also: RC302
// Who finds none makes one, and both go on with another one: only the later one is kept.
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const NODE = "/data/node/name";
const SECRET = "/data/node/secret.json";
const DESK = "/data/node/desk";

export function node(): { name: string; isNew: boolean } {
  try {
    const name = readFileSync(NODE, "utf8").trim();
    if (name) return { name, isNew: false };
  } catch {
    // It is made now.
  }
  const name = `node-${randomBytes(4).toString("hex")}`;
  try {
    mkdirSync(dirname(NODE), { recursive: true });
    writeFileSync(NODE, name); // expect: RC301 read=14
  } catch {
    // It is another one next time.
  }
  return { name, isNew: true };
}

export async function secret(): Promise<{ secret: string }> {
  try {
    return JSON.parse(await readFile(SECRET, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const made = { secret: randomBytes(32).toString("base64") };
  await writeFile(SECRET, JSON.stringify(made)); // expect: RC301 read=31
  return made;
}

export function desk(): string {
  if (existsSync(DESK)) {
    const found = readFileSync(DESK, "utf8").trim();
    if (found) return found;
  }
  const made = randomUUID();
  writeFileSync(DESK, made); // expect: RC301 read=41
  return made;
}
