// also: RC302, RC107, RC101
// The twin of inside: the callback waits, and what is called on the way to it has statements of its own.
import { readFile, writeFile } from "node:fs/promises";
import { group, say } from "some-frame";

const places = {};

async function move(name, to) {
  places[name] = to;
  await writeFile("/data/places.json", JSON.stringify(places));
}

export const load = () => readFile("/data/places.json", "utf8");

function title() {
  say("moves");
  return "moves";
}

export function moves() {
  group(title(), async () => {
    await move("chair", "hall");
  });
}
