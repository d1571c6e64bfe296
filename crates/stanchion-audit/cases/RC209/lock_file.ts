// also: RC208, RC301
import fs from "node:fs";

const LOCK = "/data/list.lock";
const FILE = "/data/list.json";

async function n1(): Promise<void> {
  for (let round = 0; round < 50; round++) {
    try {
      fs.writeFileSync(LOCK, String(process.pid), { flag: "wx" });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  console.error("waited long enough");
}

export async function add(item: string) {
  await n1();
  try {
    const all = JSON.parse(fs.readFileSync(FILE, "utf8"));
    all.push(item);
    fs.writeFileSync(`${FILE}.${process.pid}`, JSON.stringify(all));
    fs.renameSync(`${FILE}.${process.pid}`, FILE); // expect: RC209 read=10
  } finally {
    fs.unlinkSync(LOCK);
  }
}
