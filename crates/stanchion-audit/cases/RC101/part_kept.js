// also: RC302
// One part of the file is kept from the first call on; what is written back was read in this call.
import { readFile, writeFile } from "node:fs/promises";
import { Bank } from "./bank.js";

let country = null;

async function account() {
  const all = JSON.parse(await readFile("/var/lib/till/account.json", "utf8"));
  return { key: all.key, balance: all.balance, country: all.country };
}

async function home() {
  return (await account()).country;
}

export async function collect() {
  const mine = await account();
  if (!country) country = await home();
  const bank = new Bank(mine.key, country);
  mine.balance = await bank.balance();
  await writeFile("/var/lib/till/account.json", JSON.stringify(mine)); // expect: RC101 read=9
}
