// also: RC302
// What is stored is laid over something else than what is written.
import { readFileSync, writeFileSync } from "node:fs";
import { merge } from "lodash";

const FILE = "/data/theme.json";

export function paint(colour) {
  const [shown, theme] = [{}, { colour: "red" }];
  Object.assign(shown, JSON.parse(readFileSync(FILE, "utf8")));
  Object.assign(theme, { colour });
  writeFileSync(FILE, JSON.stringify(theme));
  return shown.colour;
}

export function arrange(columns) {
  const layout = JSON.parse(readFileSync("/data/layout.json", "utf8"));
  const fresh = { columns };
  merge(layout, fresh);
  writeFileSync("/data/layout.json", JSON.stringify(fresh));
  return layout.rows;
}
