// also: RC302, RC101
import { readFile, unlink, writeFile } from "node:fs/promises";

export async function set(x: string) {
  const held = await writeFile("a.lock", String(process.pid), { flag: "wx" }).then(
    () => true,
    () => false,
  );
  if (!held) console.error("could not lock, going on");
  const v = JSON.parse(await readFile("a.json", "utf8"));
  v.x = x;
  await writeFile("a.json", JSON.stringify(v)); // expect: RC209 read=5
  if (held) await unlink("a.lock");
}
