// also: RC302
// Nobody asks for both: one caller only reads, the other one only writes.
import { readFileSync, writeFileSync } from "node:fs";

const log = (how, text = "[]") => (how === "read" ? readFileSync("/data/log.json", "utf8") : writeFileSync("/data/log.json", text));

export function report() {
  return log("read").length;
}

export function clear() {
  log("write");
}
