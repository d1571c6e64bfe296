// also: RC302
// Only the first one is kept and all read that one, or whoever comes second would have written the same.
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const NODE = "/data/node/name";

export function node(): string {
  try {
    return readFileSync(NODE, "utf8").trim();
  } catch {
    // It is made now.
  }
  try {
    writeFileSync(NODE, randomBytes(4).toString("hex"), { flag: "wx" });
  } catch {
    // Somebody else has made it.
  }
  return readFileSync(NODE, "utf8").trim();
}

export function page(text: string): string {
  const place = `/data/pages/${createHash("sha256").update(text).digest("hex")}`;
  try {
    const known = readFileSync(place, "utf8");
    if (known) return known;
  } catch {
    // It is made now.
  }
  const made = text.toUpperCase();
  writeFileSync(place, made);
  return made;
}

export function renamed(): string {
  const before = readFileSync(NODE, "utf8");
  writeFileSync(NODE, randomBytes(4).toString("hex"));
  return before;
}
