import { randomUUID } from "node:crypto";
import fs from "node:fs/promises";
import { pid } from "node:process";

const foo = () => randomUUID().slice(0, 8);

export async function save(text: string): Promise<void> {
  const temp = "/data/state." + foo();
  await fs.writeFile(temp, text);
  await fs.rename(temp, "/data/state.json");
}

export async function keep(text: string): Promise<void> {
  const temp = `/data/kept.${pid}`;
  await fs.writeFile(temp, text);
  await fs.rename(temp, "/data/kept.json");
}
