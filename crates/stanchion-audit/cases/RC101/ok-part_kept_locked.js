// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";
import { Bank } from "./bank.js";

const FILE = "/var/lib/till/account.json";
let country = null;

async function account() {
  const all = JSON.parse(await readFile(FILE, "utf8"));
  return { key: all.key, balance: all.balance, country: all.country };
}

async function home() {
  return (await account()).country;
}

export async function collect() {
  const release = await lockfile.lock(FILE);
  try {
    const mine = await account();
    if (!country) country = await home();
    const bank = new Bank(mine.key, country);
    mine.balance = await bank.balance();
    await writeFile(FILE, JSON.stringify(mine));
  } finally {
    await release();
  }
}
