// also: RC101, RC302, RC107
// The function that is given the callback may wait for it, as frames for tests and jobs do.
import { readFile, writeFile } from "node:fs/promises";
import { group, step } from "some-frame";

const places = {};

export async function move(name, to) {
  places[name] = to;
  await writeFile("/data/places.json", JSON.stringify(places));
}

export const load = () => readFile("/data/places.json", "utf8");

export function moves() {
  group("moves", () => {
    step("to the hall", async () => {
      await move("chair", "hall");
    });
  });
}
