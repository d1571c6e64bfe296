import { promises as fs } from "fs";
import { randomUUID } from "crypto";

const STATUS = "/srv/status.json";

export async function store(state: string): Promise<void> {
  const temp = `${STATUS}.${randomUUID()}.tmp`;
  await fs.writeFile(temp, JSON.stringify({ state }));
  await fs.rename(temp, STATUS);
}

export async function current(): Promise<{ state: string }> {
  return JSON.parse(await fs.readFile(STATUS, "utf8"));
}
