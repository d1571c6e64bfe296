// also: RC302
// Each caller says how, and what it says is done; what nobody has said stands there as well.
import { readFileSync, writeFileSync } from "node:fs";

function change(how, entry) {
  if (how === "keep") {
    const all = JSON.parse(readFileSync("/data/log.json", "utf8"));
    all.push(entry);
    writeFileSync("/data/log.json", JSON.stringify(all)); // expect: RC101 read=7
  } else if (how === "clear") {
    writeFileSync("/data/log.json", "[]");
  } else {
    const all = JSON.parse(readFileSync("/data/other.json", "utf8"));
    all.push(entry);
    writeFileSync("/data/other.json", JSON.stringify(all)); // expect: RC101 read=13
  }
}

export function keep(entry) {
  change("keep", entry);
}

export function clear() {
  change("clear");
}
