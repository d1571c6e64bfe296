// also: RC302
// The file is to be what the caller has seen: two that have seen the same both write.
import crypto from "node:crypto";
import fs from "node:fs/promises";

const digest = (text: string) => crypto.createHash("sha256").update(text).digest("hex");

export async function unlessChanged(file: string, expected: string, text: string) {
  const now = await fs.readFile(file, "utf8");
  const hash = crypto.createHash("sha256").update(now).digest("hex");
  if (hash !== expected) throw new Error("changed");
  await fs.writeFile(file, text); // expect: RC101 read=9
}

export async function ifSame(file: string, expected: string, text: string) {
  if (digest(await fs.readFile(file, "utf8")) === expected) {
    await fs.writeFile(file, text); // expect: RC101 read=16
  }
}

export async function ifStill(file: string, old: string, text: string) {
  const now = await fs.readFile(file, "utf8");
  if (now !== old) return false;
  await fs.writeFile(file, text); // expect: RC101 read=22
  return true;
}
