// also: RC101, RC302
// What is fetched where there is nothing can be fetched again.
import { readFile, writeFile } from "node:fs/promises";

const PRICES = "/data/prices.json";

async function kept(): Promise<Record<string, number> | null> {
  try {
    return JSON.parse(await readFile(PRICES, "utf8"));
  } catch {
    return null;
  }
}

export async function prices() {
  const known = await kept();
  if (known) return known;
  const answer = await fetch("https://prices.example/all");
  const all = await answer.json();
  await writeFile(PRICES, JSON.stringify(all));
  return all;
}
