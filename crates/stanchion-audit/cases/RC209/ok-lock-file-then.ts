// also: RC302
import { mkdir, readFile, rm, unlink, writeFile } from "node:fs/promises";

async function change(x: string) {
  const all = JSON.parse(await readFile("/data/a.json", "utf8"));
  all.x = x;
  await writeFile("/data/a.json", JSON.stringify(all));
}

export async function orThrow(x: string) {
  const held = await writeFile("/data/a.lock", "", { flag: "wx" }).then(
    () => true,
    () => false,
  );
  if (!held) throw new Error("locked");
  await change(x);
  await unlink("/data/a.lock");
}

export async function orNot(x: string) {
  const held = await writeFile("/data/a.lock", "", { flag: "wx" })
    .then(() => true)
    .catch(() => false);
  if (!held) return false;
  try {
    await change(x);
  } finally {
    await unlink("/data/a.lock");
  }
  return true;
}

// A folder is no lock for what is put into it.
export async function inFolder(x: string) {
  await mkdir("/data/work").catch(() => {});
  await writeFile("/data/work/d.json", JSON.stringify(x));
  await rm("/data/work", { recursive: true });
}
