// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";

const SHELF = "/data/shelf.json";

async function books() {
  return JSON.parse(await readFile(SHELF, "utf8"));
}

async function titles() {
  return (await books()).map((book) => book.title);
}

async function keep(all) {
  await writeFile(SHELF, JSON.stringify(all));
}

export async function lend(title) {
  const release = await lockfile.lock(SHELF);
  try {
    const all = await books();
    all.push({ title });
    await keep(all);
  } finally {
    await release();
  }
}

export async function list() {
  return titles();
}
