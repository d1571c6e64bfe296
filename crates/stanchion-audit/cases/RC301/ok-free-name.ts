import fs from "node:fs";
import path from "node:path";

// What is looked for is to be there.
export function up(start: string, body: string) {
  let file = path.join(start, ".config.json");
  while (!fs.existsSync(file)) file = path.join(path.dirname(file), "..", ".config.json");
  fs.writeFileSync(file, body);
}

export function either(dir: string, body: string) {
  let file = path.join(dir, "a.json");
  if (!fs.existsSync(file)) file = path.join(dir, "b.json");
  fs.writeFileSync(file, body);
}

function found(dir: string) {
  const first = path.join(dir, "a.json");
  if (fs.existsSync(first)) return first;
  return path.join(dir, "b.json");
}

export function there(dir: string, body: string) {
  fs.writeFileSync(found(dir), body);
}

// It fails if somebody was faster.
export function exclusive(dir: string, name: string, body: string) {
  let file = path.join(dir, name + ".md");
  let n = 1;
  while (fs.existsSync(file)) file = path.join(dir, `${name}-${n++}.md`);
  fs.writeFileSync(file, body, { flag: "wx" });
}

// The file of a folder, not another name for it.
export function inside(dir: string, name: string, body: string) {
  let file = path.join(dir, name);
  if (fs.existsSync(file)) file = path.join(file, "index.md");
  fs.writeFileSync(file, body);
}

// It is only read.
export function read(dir: string, name: string) {
  let file = path.join(dir, name);
  if (fs.existsSync(file)) file = path.join(dir, "other-" + name);
  return fs.readFileSync(file, "utf8");
}
