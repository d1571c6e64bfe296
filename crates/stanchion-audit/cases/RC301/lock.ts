import * as fs from "fs/promises";

async function o1(p: string): Promise<boolean> {
  try {
    await fs.access(p);
    return true;
  } catch {
    return false;
  }
}

export async function o2(p: string): Promise<boolean> {
  if (await o1(p)) return false;
  await fs.writeFile(p, String(process.pid)); // expect: RC301 read=5
  return true;
}

export async function o3(p: string): Promise<void> {
  await fs.rm(p, { force: true });
}
