// also: RC302
// A library's `call` is not that of a function: what it is given is run, not made the receiver of something.
import fs from "node:fs/promises";

export const save = (deps, entry) =>
  deps.limiter.call(async () => {
    const all = JSON.parse(await fs.readFile("/data/entries.json", "utf8"));
    all.push(entry);
    await fs.writeFile("/data/entries.json", JSON.stringify(all)); // expect: RC101 read=7
  });

export const listen = (deps) => {
  deps.events.bind(async (event) => {
    const seen = JSON.parse(await fs.readFile("/data/seen.json", "utf8"));
    seen.push(event.id);
    await fs.writeFile("/data/seen.json", JSON.stringify(seen)); // expect: RC101 read=14
  });
};
