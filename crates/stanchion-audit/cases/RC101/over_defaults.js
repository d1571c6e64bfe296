// also: RC302, RC304
// What is stored is laid over the defaults, by a call whose result nobody takes.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { merge } from "lodash";

const FILE = "/data/theme.json";

function stored() {
  const theme = { colour: "red", fonts: ["serif"] };
  if (existsSync(FILE)) {
    Object.assign(theme, JSON.parse(readFileSync(FILE, "utf8")));
  }
  return theme;
}

export function paint(colour) {
  const theme = stored();
  theme.colour = colour;
  writeFileSync(FILE, JSON.stringify(theme)); // expect: RC101 read=11
}

function lay(over) {
  merge(over, JSON.parse(readFileSync("/data/layout.json", "utf8")));
}

export function arrange(columns) {
  const layout = {};
  lay(layout);
  layout.columns = columns;
  writeFileSync("/data/layout.json", JSON.stringify(layout)); // expect: RC101 read=23
}
