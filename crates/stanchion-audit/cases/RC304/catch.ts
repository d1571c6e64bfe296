// also: RC101, RC302
import fs from "node:fs/promises";

const FILE = "/data/queue.json";

export async function enqueue(job: string): Promise<void> {
  const text = await fs.readFile(FILE, "utf8").catch(() => "[]");
  const jobs = JSON.parse(text);
  jobs.push(job);
  await fs.writeFile(FILE, JSON.stringify(jobs)); // expect: RC304 read=7
}
