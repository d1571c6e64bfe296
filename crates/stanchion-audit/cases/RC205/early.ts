// also: RC302
import lockfile from "proper-lockfile";
import fs from "node:fs/promises";

const P = "/data/plan.json";

export async function qq(step: string): Promise<boolean> {
  const free = await lockfile.lock(P);
  const plan = JSON.parse(await fs.readFile(P, "utf8"));
  if (plan.done.includes(step)) return false;
  plan.done.push(step);
  await fs.writeFile(P, JSON.stringify(plan));
  await free(); // expect: RC205 read=8
  return true;
}
