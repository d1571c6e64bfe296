// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";

const FILE = "/var/lib/kiosk/menu.json";

async function menu() {
  return JSON.parse(await readFile(FILE, "utf8"));
}

async function dish(title) {
  return (await menu()).dishes.find((one) => one.title === title);
}

// What says only which one it is comes from a read of its own.
async function change(id, to) {
  const release = await lockfile.lock(FILE);
  try {
    const all = await menu();
    const at = all.dishes.findIndex((one) => one.id === id);
    all.dishes[at] = { ...all.dishes[at], ...to };
    await writeFile(FILE, JSON.stringify(all));
  } finally {
    await release();
  }
}

export async function price(title, cents) {
  const one = await dish(title);
  if (!one) return;
  await change(one.id, { cents });
}

// What was read first is written before it is read again.
async function add(title) {
  const release = await lockfile.lock(FILE);
  try {
    const all = await menu();
    const id = all.dishes.length + 1;
    all.dishes.push({ id, title });
    await writeFile(FILE, JSON.stringify(all));
    return id;
  } finally {
    await release();
  }
}

async function mark(today) {
  const release = await lockfile.lock(FILE);
  try {
    const all = await menu();
    await writeFile(FILE, JSON.stringify({ ...all, today }));
  } finally {
    await release();
  }
}

export async function special(title) {
  await mark(await add(title));
}
