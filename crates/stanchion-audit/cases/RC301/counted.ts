// also: RC302
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const SHOTS = path.resolve("shots");

export function keep(picture: Buffer): string {
  const shots = readdirSync(SHOTS).filter((name) => name.endsWith(".png"));
  const file = path.join(SHOTS, `shot-${shots.length + 1}.png`);
  writeFileSync(file, picture); // expect: RC301 read=8
  return file;
}
