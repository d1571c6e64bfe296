// also: RC302
// What the caller gave is another thing in the second round.
import fs from "node:fs/promises";
import { ask } from "./ask.js";

async function clean(rooms, force = false) {
  while (true) {
    if (force) {
      await fs.writeFile("/data/rooms.json", JSON.stringify(rooms.filter((room) => room.taken))); // expect: RC101 read=17
      return;
    }
    force = await ask("all of them?");
  }
}

export async function run() {
  const rooms = JSON.parse(await fs.readFile("/data/rooms.json", "utf8"));
  await clean(rooms);
}
