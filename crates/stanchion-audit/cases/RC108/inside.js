// also: RC101, RC302, RC107
// Whoever is given the callback may wait for it, but the callback does not wait itself.
import { readFile, writeFile } from "node:fs/promises";
import { group, step } from "some-frame";

const places = {};

async function move(name, to) {
  places[name] = to;
  await writeFile("/data/places.json", JSON.stringify(places)); // expect: RC108
}

export const load = () => readFile("/data/places.json", "utf8");

export function moves() {
  group("moves", () => {
    step("to the hall", async () => {
      move("chair", "hall");
    });
  });
}
