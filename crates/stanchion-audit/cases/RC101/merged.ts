// also: RC302
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/var/lib/kiosk/menu.json";

async function menu() {
  const all = JSON.parse(await readFile(FILE, "utf8"));
  return { dishes: all.dishes ?? {} };
}

async function put(part) {
  const all = JSON.parse(await readFile(FILE, "utf8"));
  await writeFile(FILE, JSON.stringify({ ...all, dishes: part.dishes })); // expect: RC101 read=12
}

export async function offer(name, price) {
  const mine = await menu();
  mine.dishes[name] = price;
  await put(mine); // expect: RC101 read=17
}

export async function rename(from, to) {
  const mine = await menu();
  mine.dishes[to] = mine.dishes[from];
  delete mine.dishes[from];
  await put(mine); // expect: RC101 read=23
}
