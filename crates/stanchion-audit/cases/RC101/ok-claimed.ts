// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import lockfile from "proper-lockfile";

// Whoever writes only what is new would write it anyway.
export async function publish(path, text) {
  const old = await readFile(path, "utf8");
  if (old === text) return;
  await writeFile(path, text);
}

// What is made anew is as new as can be.
export async function rates() {
  const kept = JSON.parse(await readFile("/var/cache/rates.json", "utf8"));
  if (kept.version === 2) return kept;
  const answer = await fetch("https://rates.example/today");
  await writeFile("/var/cache/rates.json", JSON.stringify(await answer.json()));
}

// A file tells what becomes of another one.
export async function log(line) {
  const settings = JSON.parse(await readFile("/etc/app/settings.json", "utf8"));
  if (settings.mode !== "loud") return;
  await writeFile("/var/log/app/last", line);
}

// Nothing in it, and something at its place.
export async function begin() {
  const text = await readFile("/var/lib/app/steps.json", "utf8");
  if (text.length > 0) return;
  await writeFile("/var/lib/app/steps.json", "[]");
}

export async function take(id) {
  const path = `/var/lib/errands/${id}.json`;
  const release = await lockfile.lock(path);
  try {
    const one = JSON.parse(await readFile(path, "utf8"));
    if (one.state !== "free") return "somebody has it";
    await writeFile(path, JSON.stringify({ state: "mine" }));
    return "go";
  } finally {
    await release();
  }
}
