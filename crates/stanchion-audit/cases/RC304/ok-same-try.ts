// also: RC101, RC302
// If it cannot be read, nothing is written.
import { readFile, writeFile } from "node:fs/promises";

const FILE = "/data/tasks.json";

export async function clear(id: string) {
  try {
    const tasks = JSON.parse(await readFile(FILE, "utf8"));
    delete tasks[id];
    await writeFile(FILE, JSON.stringify(tasks));
    return { success: true, message: "cleared" };
  } catch {
    return { success: false, message: "not cleared" };
  }
}

export async function rename(id: string, name: string) {
  let tasks;
  try {
    tasks = JSON.parse(await readFile(FILE, "utf8"));
  } catch {
    return { success: false, message: "not renamed" };
  }
  tasks[id].name = name;
  await writeFile(FILE, JSON.stringify(tasks));
  return { success: true, message: "renamed" };
}
